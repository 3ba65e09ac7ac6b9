"""Words for terminal, page and ticket: quantities, names, filters, moments, the verdict."""
