"""What published releases of language models are read as: parameters, memory by precision, blocks and window.

    python -m bench.engine.releases

`releases.json` beside it has the keys of their config.json. No weights are needed.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bench.reporting import table
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.memory import position_bytes
from cinnabar.engine.models.language.networks import network_of
from cinnabar.engine.models.language.quantised import Bits, is_quantised, quantised_bytes
from cinnabar.engine.models.language.traits import Traits
from cinnabar.schemas.errors import ModelError

HEAD = ("release", "parameters", "bfloat16", "8 bits", "4 bits", "keys and values of 1,000 tokens", "block", "window")


@dataclass(frozen=True, slots=True)
class Release:
    """A release: its traits, its number of parameters, and the bytes of its weights by precision."""

    name: str
    family: str
    traits: Traits
    parameters: int
    sizes: tuple[int, int, int]

    def row(self) -> list[str]:
        """Returns its row of the table."""
        kept = position_bytes(self.traits, "bfloat16") * 1000
        cells = [self.name, f"{self.parameters / 1e9:.1f}B", *(f"{size / 1e9:.1f} GB" for size in self.sizes)]
        window = self.traits.window
        said = f"{window // 1024}K" if window % 1024 == 0 else str(window)
        return [*cells, f"{kept / 1e6:.0f} MB" if kept else "none kept", str(self.traits.block), said]


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
    shapes, parameters = _shapes(traits), parameters_of(traits)
    sizes = (2 * parameters, _rounded(shapes, 8), _rounded(shapes, 4))
    return Release(name, family.title, traits, parameters, sizes)


def parameters_of(traits: Traits) -> int:
    """Returns the number of parameters of a decoder of these traits."""
    return sum(map(math.prod, _shapes(traits).values()))


def _shapes(traits: Traits) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        shapes = {at: tuple(one.shape) for at, one in network_of(traits).state_dict().items()}
    if traits.tied:
        shapes.pop("lm_head.weight", None)
    return shapes


def _rounded(shapes: dict[str, tuple[int, ...]], bits: Bits) -> int:
    return sum(
        quantised_bytes(shape, bits) if is_quantised(name, shape) else 2 * math.prod(shape)
        for name, shape in shapes.items()
    )


def rows() -> Iterator[list[str]]:
    """Yields the rows of all releases; of a refused one its reason."""
    for name, config in published().items():
        try:
            yield read_release(name, config).row()
        except ModelError as error:
            yield [name, f"refused: {error}", *[""] * (len(HEAD) - 2)]


if __name__ == "__main__":
    print(table(HEAD, rows()))
