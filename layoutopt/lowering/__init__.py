"""From a choice to one graph."""
