"""A record is what the model writes token by token, to the bit, in whatever batch and with whatever is drafted."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest
import torch
from tests.engine.language.test_drafts import random_source
from tests.support.effort import first
from tests.support.random_schemas import forms
from tests.support.random_scores import task_of
from tests.support.tiny_checkpoint import save_decoder, tiny_decoder
from tests.support.tiny_models import CAUSAL, TOKENIZER, VOCABULARY

from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.models.language import checkpoint
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.errors import TooLarge

#: Sizes as those of releases, which 32 divides: torch computes what is left of rows of others in another way.
TRAITS = replace(
    CAUSAL, family="qwen2", qkv_bias=True, qk_norm=False, width=64, inner=96, head_width=32,
    vocabulary=-(-VOCABULARY.size // 32) * 32,
)  # fmt: skip
SEEDS, BATCH = 75, 4


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    """A random decoder whose matrices have 8 bits."""
    folder = tmp_path_factory.mktemp("model")
    made = tiny_decoder(TRAITS)
    made.lm_head.weight.data *= 3.0
    save_decoder(folder, made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "supports_int8", lambda _: True)
        return checkpoint.load_decoder(folder, TRAITS, torch.device("cpu"), "int8")


@cache
def drawn(seed: int) -> tuple[Task, ...]:
    """Tasks of drawn schemas and documents."""
    draw, found = random.Random(seed), list[Task]()
    for number, compiled in enumerate(forms(seed, 2 * BATCH)):
        try:
            words = " ".join(draw.choice(("name", "total", "2024-01-20", "kind", "red", "17")) for _ in range(9))
            found.append(task_of(compiled, f"Document {number}: {words}", None))
        except TooLarge:
            pass
    return tuple(found[:BATCH])


def written(model: Decoder, *tasks: Task) -> list[tuple[object, ...]]:
    """All that the results say, but their passes."""
    found = Denoiser(model, TOKENIZER, page=8).decode(tasks)
    decoded = [one for one in found if isinstance(one, Decoded)]
    assert len(decoded) == len(tasks), found
    return [
        (one.text, one.tokens, one.chosen, [*one.posteriors], one.log_mass, one.accepted, one.reopened)
        for one in decoded
    ]


@pytest.mark.parametrize("seed", first(1, range(SEEDS)))
def test_alone_and_beside_others_and_with_right_and_wrong_drafts_a_record_is_the_same_to_the_bit(
    seed: int, model: Decoder
) -> None:
    """Decode SEEDS * BATCH = 300 records, each in six ways."""
    tasks = drawn(seed)
    plain = [written(model, one)[0] for one in tasks]
    right = [bytes(one[0]) for one in plain if isinstance(one[0], bytes)]
    assert len(right) == BATCH
    for sources in ([b""] * BATCH, right, [random_source(seed, right)] * BATCH):
        drafted = [replace(one, source=source) for one, source in zip(tasks, sources, strict=True)]
        assert written(model, *drafted) == plain
        assert [*reversed(written(model, *reversed(drafted)))] == plain
        # Without a draft `plain` is what is written alone.
        assert not any(sources) or [written(model, one)[0] for one in drafted] == plain
