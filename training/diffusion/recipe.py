"""Trains the small diffusion model from nothing, on generated pages, or goes on with an interrupted training.

    python -m training.diffusion.recipe --minutes 95 --out runs/small
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

from cinnabar.apps.cli.train import ProgressLines, make_folder
from cinnabar.engine.backend import device_of
from cinnabar.engine.models.language.checkpoint import save_decoder
from cinnabar.engine.models.language.decoder import Attention, Decoder
from cinnabar.engine.models.language.language_model import LanguageModel, fresh_language_model
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.training.diffusion.examples import TokenExample, answer_example
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, train_diffusion
from cinnabar.extraction.plan.run_options import Device
from training.diffusion.pages import Page, Pages, page_messages

#: Fields of a page at first and at last, and the share of the schedule in which they rise: short pages are learned
#: first.
_FEWEST, _MOST, _RISE = 3, 12, 0.4
#: The share of pages that have two answers: their records are so short that a tenth of the pages were a fiftieth of
#: the tokens.
_TWO_ANSWERS = 0.3


def train_small_model(
    folder: Path,
    config: DiffusionTraining,
    device: torch.device | str = "cpu",
    report: Callable[[dict[str, float]], None] = lambda _: None,
) -> Path:
    """Trains the model in `folder`/model, or goes on with it; returns that folder."""
    made = folder / "model"
    if not (made / "config.json").is_file():
        make_small_model(made, config.seed)
    model = fresh_language_model(made, "cpu", "float32")
    decoder = model.decoder.requires_grad_(True)

    def draw(count: int, share: float, rng: random.Random) -> Sequence[TokenExample]:
        most = round(_FEWEST + (_MOST - _FEWEST) * min(1.0, share / _RISE))
        return page_examples(model, Pages(most=most, two_answers=_TWO_ANSWERS), count, rng)

    train_diffusion(decoder, draw, model.tokenizer.end, config, folder, report, device)
    save_decoder(made, decoder.to(torch.bfloat16), writes_records=True)
    return made


def page_examples(model: LanguageModel, pages: Pages, count: int, rng: random.Random) -> list[TokenExample]:
    """Returns examples of freshly drawn pages."""
    found = []
    for _ in range(count):
        page = pages.draw(rng)
        record = json.dumps(page.record, ensure_ascii=False)
        found.append(answer_example(model, page_messages(page), record))
    return found


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the run: checkpoint and model/")
    parser.add_argument("--minutes", type=float, default=95.0)
    parser.add_argument("--steps", type=int, help="the length of the schedule, in place of minutes")
    parser.add_argument("--device", choices=get_args(Device), default="auto")
    asked = parser.parse_args()
    # The trainer writes its checkpoint after a KeyboardInterrupt.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    make_folder(asked.out)
    config = DiffusionTraining(minutes=asked.minutes, steps=asked.steps)
    made = train_small_model(asked.out, config, device_of(asked.device), ProgressLines(asked.minutes))
    print(f"use it with: --model {made}")


if __name__ == "__main__":
    main()


# The recipe of the small diffusion model: its tokenizer, its sizes, its first weights.
#
# Values are read by copying, so the first weights make copying near: queries look for keys that are like them, and
# attention hands on what it finds (mimetic initialisation, arXiv 2305.09828). After 125 steps the loss was 2.29 instead
# of 2.58. The tokenizer spells a value alike after `: ` and after `"`: no token crosses the border of a word, a digit
# or a capital, but for the marks of JSON and the words of a prompt.

_END, _MASK, _USER, _ANSWER = "<|end|>", "<|mask|>", "<|user|>", "<|answer|>"
#: The instructions are left out: they are the same for every page.
_TEMPLATE = (
    "{% for message in messages %}"
    f"{{% if message.role == 'user' %}}{_USER}{{{{ message.content }}}}{{% endif %}}"
    f"{{% if message.role == 'assistant' %}}{_ANSWER}{{{{ message.content }}}}{_END}{{% endif %}}"
    "{% endfor %}"
    f"{{% if add_generation_prompt %}}{_ANSWER}{{% endif %}}"
)
_SPLIT = (
    r'": "|", "|": |, "|\{"|"\}| or null|: string|: number|: date YYYY-MM-DD'
    r"|(?<![A-Za-z])[a-z]|[a-z]+|[\s\S]"
)
_VOCABULARY = 512
#: Pages from which the tokenizer is made.
_SPELLED = 4_000
#: How much queries and keys, or values and outputs, have in common at first.
_ALIKE = 0.8


def make_small_model(folder: Path, seed: int = 0) -> None:
    """Writes the untrained model as a folder in Hugging Face form; the same seed gives the same weights."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(seed)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"eos_token": _END, "mask_token": _MASK, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names | {"chat_template": _TEMPLATE}, indent=1) + "\n")
    traits = Traits(
        family="sdar",
        vocabulary=tokenizer.get_vocab_size(),
        width=192,
        layers=5,
        heads=3,
        key_heads=3,
        head_width=64,
        inner=512,
        epsilon=1e-6,
        window=4096,
        visibility="block_causal",
        block=16,
        mask=tokenizer.token_to_id(_MASK),
        qk_norm=True,
        tied=True,
        revises=True,
    )
    decoder = Decoder(traits)
    start_copying(decoder, seed)
    save_decoder(folder, decoder, writes_records=True)


def _tokenizer(seed: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=[_END, _MASK, _USER, _ANSWER],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(seed), trainer)
    return tokenizer


def _texts(seed: int) -> Iterator[str]:
    rng, pages = random.Random(seed), Pages()
    for _ in range(_SPELLED):
        page: Page = pages.draw(rng)
        yield page_messages(page)[-1]["content"]
        yield json.dumps(page.record)


def start_copying(decoder: Decoder, seed: int) -> None:
    """Sets the first weights of a decoder, in place."""
    width = decoder.traits.width
    generator = torch.Generator().manual_seed(seed)

    def drawn(like: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.randn(like.shape, generator=generator) / math.sqrt(width)
        return made

    def alike(whole: torch.Tensor) -> torch.Tensor:
        return _ALIKE * whole + math.sqrt(1 - _ALIKE**2) * drawn(whole)

    with torch.no_grad():
        for name, weight in decoder.named_parameters():
            if name.endswith("embed_tokens.weight"):
                weight.copy_(torch.randn(weight.shape, generator=generator))
            elif weight.dim() == 2 and name != "lm_head.weight":
                halved = 0.5 if name.endswith("down_proj.weight") else 1.0
                weight.copy_(torch.randn(weight.shape, generator=generator) * weight.shape[1] ** -0.5 * halved)
        for part in decoder.modules():
            if isinstance(part, Attention):
                shared = drawn(part.q_proj.weight)
                part.q_proj.weight.copy_(alike(shared))
                part.k_proj.weight.copy_(alike(shared[: part.k_proj.weight.shape[0]]))
                handed = drawn(part.v_proj.weight)
                part.v_proj.weight.copy_(alike(handed))
                if handed.shape == part.o_proj.weight.shape:
                    part.o_proj.weight.copy_(0.5 * alike(handed.t()))
        nn.init.constant_(decoder.model.norm.weight, width**-0.5)
