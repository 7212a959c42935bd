"""The engine: forms and passages in, valid records out."""

from __future__ import annotations

import os

# OpenMP reads it when torch is loaded. Its threads wait by spinning otherwise, and on a machine that does
# anything else they keep each other from working: 6 receipts took 32 s instead of 3.3 s (two cores, load 3).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
