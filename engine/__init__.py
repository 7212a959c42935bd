"""The engine fills forms from passages and returns valid records."""

from __future__ import annotations

import os

# OpenMP reads this variable when torch is loaded. By default its threads wait by spinning, and on a busy machine they
# keep each other from working: 6 receipts took 32 s instead of 3.3 s (two cores, load 3).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
