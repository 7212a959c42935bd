"""Draws documents with long lists in tables, and their truth, as labelled sets of two parts that share no header."""
