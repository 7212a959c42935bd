"""The thresholds by which a language model is taken apart, held in memory and computed."""

from __future__ import annotations

#: Rows of a head that are compared with those of the embeddings, and how far a copy in few bits is off at most: Q4_K is
#: by .06, Q2_K by .3, and others by 1.4.
COPY_SAMPLE, COPY_DISTANCE = 64, 0.5
#: The share of the free memory that keys and values may take; passes, documents and their parsers need the rest.
MEMORY_SHARE = 0.5
#: Rows are attended together on a CPU as long as this share of their work is not padding.
USED_SHARE = 0.8
#: A pass of so many tokens on a CPU gives back the memory of its temporaries, up to 300 MB, which takes 10 ms.
LONG_PASS = 256
