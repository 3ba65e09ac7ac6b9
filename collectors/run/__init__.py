"""One run: `record` starts the other collectors and stops them, `serve` does so over ssh."""
