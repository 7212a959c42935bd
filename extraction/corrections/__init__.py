"""Corrections that people make: stored beside the records, in the views at once, and kept by every later run.

`Corrector` corrects and takes back. `corrections` lists what is in force. `docs/review.md` tells how it works.
"""

from cinnabar.errors import Refused
from cinnabar.extraction.corrections.changes import Action, Change, Correction
from cinnabar.extraction.corrections.corrector import Corrector, corrections
from cinnabar.extraction.corrections.state import Reviewed

__all__ = ["Action", "Change", "Correction", "Corrector", "Refused", "Reviewed", "corrections"]
