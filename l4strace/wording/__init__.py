"""How things are put into words, once: quantities, names, filters, moments, the verdict."""
