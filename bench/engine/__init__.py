"""What the engine over language models must show: `python -m bench engine`."""
