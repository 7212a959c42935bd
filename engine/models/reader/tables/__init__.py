"""Lists that stand in tables: columns are bound to fields once a table, and rows are read by cell."""
