"""PDFs: pages with words and boxes in reading order, and what the file says of itself."""
