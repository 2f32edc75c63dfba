"""Select the cheapest consistent plan."""
