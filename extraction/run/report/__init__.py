"""Reports of runs: their figures, drift against earlier runs, and documents as a page of their own."""
