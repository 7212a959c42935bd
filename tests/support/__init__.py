"""Helpers that tests and benches share. Programs among them run as modules from the folder of the repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
