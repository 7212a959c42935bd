"""Lists that stand in tables: columns are matched to fields once a table, and rows are read by cell."""
