"""Recording a run: collectors as subprocesses, here or over ssh. Nothing of them is imported."""
