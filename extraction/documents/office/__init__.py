"""Office files: Word, Excel, PowerPoint, and those of OpenDocument."""
