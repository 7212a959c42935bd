"""The frozen sentence encoder: texts of like meaning have vectors that point the same way."""
