"""Tables of a page, found by the places of its words alone: lines, columns, heads and rows."""
