"""The recipe of the shipped weights: the sets for training, the sets left out, and the held-back documents."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HELD_BACK = 0.2


@dataclass(frozen=True, slots=True)
class SetRecipe:
    """A set's weight in the mix, and the JSON pointer whose value groups its documents.

    `salt` draws another fifth if a few large groups would unbalance the split.
    """

    weight: float = 1.0
    group: str = ""
    salt: str = ""


@dataclass(frozen=True, slots=True)
class MadeRecipe:
    """The weight of a source of synthetic documents, and how many are made."""

    weight: float = 1.0
    documents: int = 400


@dataclass(frozen=True, slots=True)
class Recipe:
    """The sets by name, the sets that are only measured, the families by name, and the mined source."""

    sets: dict[str, SetRecipe]
    left_out: tuple[str, ...]
    families: dict[str, MadeRecipe]
    mined: MadeRecipe

    def family(self, name: str) -> MadeRecipe:
        """Returns the recipe of a family; one without an entry gets that of `default`."""
        return self.families.get(name, self.families["default"])


def load_recipe() -> Recipe:
    """Returns the recipe of the shipped weights."""
    raw = tomllib.loads(Path(__file__).with_name("recipe.toml").read_text(encoding="utf-8"))
    return Recipe(
        {k: SetRecipe(**v) for k, v in raw["sets"].items()},
        tuple(raw["left_out"]),
        {k: MadeRecipe(**v) for k, v in raw["families"].items()},
        MadeRecipe(**raw["mined"]),
    )


def is_held_back(file: str, truth: Any, recipe: SetRecipe = SetRecipe()) -> bool:
    """Returns whether a document is held back for measuring; the answer is the same on every machine."""
    key: Any = truth if recipe.group else file
    for part in recipe.group.strip("/").split("/") if recipe.group else ():
        key = key.get(part) if isinstance(key, dict) else None
    digest = hashlib.sha256(f"{recipe.salt}:{file if key is None else key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 < HELD_BACK
