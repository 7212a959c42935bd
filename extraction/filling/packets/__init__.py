"""Packets: where a document begins within a PDF of several, and what people said of it."""
