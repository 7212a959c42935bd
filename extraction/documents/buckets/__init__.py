"""Reads documents from object stores."""

from __future__ import annotations
