"""What published releases of language models are read as: parameters, memory by precision, blocks and window.

    python -m bench.engine.releases

`releases.json` beside it has the keys of their config.json. No weights are needed.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bench.reporting import table
from cinnabar.engine.models.language.checkpoint import CheckpointContents, network_of, weight_bytes
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.memory import position_bytes
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.models.language.weights_file import StoredTensor
from cinnabar.engine.settings import Precision
from cinnabar.errors import ModelError

HEAD = ("release", "parameters", "bfloat16", "8 bits", "4 bits", "keys and values of 1,000 tokens", "block", "window")

PRECISIONS: tuple[Precision, ...] = ("bfloat16", "w8a16", "w4a16")


@dataclass(frozen=True, slots=True)
class Release:
    """A release: its traits, its number of parameters, and the bytes of its weights by precision."""

    name: str
    family: str
    traits: Traits
    parameters: int
    sizes: Sequence[int]

    def row(self) -> list[str]:
        """Returns its row of the table."""
        kept = position_bytes(self.traits, "bfloat16") * 1000
        cells = [self.name, f"{self.parameters / 1e9:.1f}B", *(f"{size / 1e9:.1f} GB" for size in self.sizes)]
        window = self.traits.window
        said = f"{window // 1024}K" if window % 1024 == 0 else str(window)
        return [*cells, f"{kept / 1e6:.0f} MB", str(self.traits.block), said]


def published() -> dict[str, dict[str, Any]]:
    """Returns config.json by the name of the release."""
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return found


def read_release(name: str, config: dict[str, Any]) -> Release:
    """Returns what a folder of this name with this config.json is. Raises ModelError if it is refused."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, name)
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        family, traits = read_family(folder)
    needed = {at: StoredTensor(Path(), at, "BF16", shape, 0, 0) for at, shape in _shapes(traits).items()}
    contents = CheckpointContents(needed, {at: (one.shape, ()) for at, one in needed.items()}, (), ())
    sizes = [weight_bytes(contents, precision) for precision in PRECISIONS]
    return Release(name, family.title, traits, contents.parameters, sizes)


def parameters_of(traits: Traits) -> int:
    """Returns the number of parameters of a decoder of these traits."""
    return sum(map(math.prod, _shapes(traits).values()))


def _shapes(traits: Traits) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        shapes = {at: tuple(one.shape) for at, one in network_of(traits).state_dict().items()}
    if traits.tied:
        shapes.pop("lm_head.weight", None)
    return shapes


def rows() -> Iterator[list[str]]:
    """Yields the rows of all releases; of a refused one its reason."""
    for name, config in published().items():
        try:
            yield read_release(name, config).row()
        except ModelError as error:
            yield [name, f"refused: {error}", *[""] * (len(HEAD) - 2)]


if __name__ == "__main__":
    print(table(HEAD, rows()))
