"""The published config.json of each release is read as the release that it is, and the documentation tells the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.engine.releases import HEAD, published, read_release, rows

PAGE = Path(__file__).parents[3] / "docs" / "model" / "families.md"
#: Thousands of millions of parameters as the makers tell them, and the block.
TOLD = {
    "SDAR-1.7B-Chat": (2.0, 4), "SDAR-4B-Chat": (4.4, 4), "SDAR-8B-Chat": (8.2, 4), "SDAR-8B-Chat-b32": (8.2, 32),
    "SDAR-30B-A3B-Chat": (30.5, 4), "LLaDA2.0-mini": (16.3, 32), "LLaDA2.1-mini": (16.3, 32),
    "Fast_dLLM_v2_7B": (7.6, 32),
    "Nemotron-Labs-Diffusion-8B": (8.5, 32), "DiffusionGemma-26B-A4B-it": (25.3, 256),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_a_published_release_is_read_with_its_size_and_block(name: str) -> None:
    release = read_release(name, published()[name])
    assert (round(release.parameters / 1e9, 1), release.traits.block) == TOLD[name]
    assert release.traits.noise == ("uniform" if "Gemma" in name else "mask")
    assert release.traits.revises == (name.startswith(("LLaDA2.1", "DiffusionGemma")))


def test_the_table_of_the_documentation_is_the_one_that_is_computed() -> None:
    section = PAGE.read_text("utf-8").partition("## Releases for a GPU")[2].partition("\n## ")[0]
    written = {}
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith(("| release", "| name", "| `")):
            name, _, _, *figures, _ = (cell.strip() for cell in line.strip("|").split("|"))
            written[name] = figures
    computed = {name: figures for name, *figures in rows()}
    assert len(HEAD) == 8 and written == computed
    assert published().keys() == TOLD.keys()
