"""Many runs: which there are, what each shows, and the dataset that keeps it.

`discover` finds the runs and their parameters, `one_run` measures one of them as `diagnose` does,
`pool` does that on all cores and `cluster` on a Dask scheduler, `dataset` keeps what they return.
"""
