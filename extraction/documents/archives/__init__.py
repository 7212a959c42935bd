"""Archives: bounded reading of their members."""
