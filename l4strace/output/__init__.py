"""Values in, text out: one module per format, each with one `render`."""
