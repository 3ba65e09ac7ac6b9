"""What can be seen of a bottleneck, one small function a sign, one file a question."""
