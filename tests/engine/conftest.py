"""This folder joins the import path, so that tests import its models and schemas by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
