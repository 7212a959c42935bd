"""Objects that a `with` block closes at its end."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager whose exit closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of what is held."""
        raise NotImplementedError
