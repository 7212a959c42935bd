"""What the engine over language models must show."""
