"""The limits of scores, shared by all scans."""

from __future__ import annotations

#: Replaces minus infinity; it is finite, so differences of impossible scores are numbers.
FLOOR = -1.0e9
#: Scores above this are possible. Token scores are cut off at -1e5 (LEAST), so 64 positions of the least likely tokens
#: stay far above it.
POSSIBLE = FLOOR / 2
#: The least log score of a token; 64 of them stay far above FLOOR.
LEAST = -1.0e5
