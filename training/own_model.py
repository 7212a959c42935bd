"""Trains our own diffusion language model from its base: records as they are asked for in use.

    python -m training.own_model prepare ../shared/data runs/model
    python -m training.own_model train runs/model --steps 4000
    python -m training.own_model export runs/model runs/model/tuned
    python -m training.own_model export runs/model models/diffusion --packed 1

With `--packed 1` the weights are in few bits, to ship (engine/models/language/packed.py). `prepare` and `train` go on
where they were interrupted. `train` takes the examples that are prepared when it starts; with `--minutes` its schedule
is so long, in place of `--steps`.
"""

from __future__ import annotations

import pickle
import random
import shutil
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from cinnabar.engine.backend import device_of
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.diffusion.remaining import Remaining
from cinnabar.engine.models.identity import CALIBRATION
from cinnabar.engine.models.language.checkpoint import save_decoder
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.language_model import LanguageModel, fresh_language_model
from cinnabar.engine.models.language.packed import pack
from cinnabar.engine.request import Request, text_passage
from cinnabar.engine.training.diffusion.examples import Example, Noise, answered
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, train_diffusion
from cinnabar.engine.training.trainer import CHECKPOINT
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.canonical import json_text, parse, scalar_text
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.errors import CinnabarError
from cinnabar.schemas.form.form import ObjectNode, Slot
from cinnabar.schemas.form.record_language import one_line
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.reading.texts import read_schema
from training.diffusion.pages import Pages
from training.diffusion.recipe import page_examples
from training.generator.generator import FAMILIES, generate
from training.labelled import labelled_documents
from training.reading_data import SUFFIX, closed, reading_lines
from training.recipe import is_held_back, load_recipe
from training.runs import WITHHELD, command

#: The licence of the base and of what becomes of it.
LICENCE = Path(__file__).parents[1] / "LICENSE"
#: The most tokens of an example and of its answer; documents of the sets may be longer.
LONGEST, ANSWER, LONG = 1500, 400, 6000
#: The most examples of a reading set, of a set, and of a family.
READING, DOCUMENTS, MADE = 4000, 300, 120
#: The share of examples in which a part of the values is known.
KNOWN = 0.3
#: The shares of the kinds of examples: sets, reading data, families; the rest are generated pages. Passages of the
#: reading data are short and each asks its own fields: many of them teach to read fields that were never seen.
SHARES = {"set": 0.32, "reading": 0.43, "family": 0.2}
#: Half of the blocks hide all from some place on, as decoding sees them, with a loss on nearly all of it.
NOISE = Noise(tail=0.5, near=8, beyond=0.5, wrong=0.04, pairs=1)
#: The sizes of block that the model learns; which one it has in use is decided by measurement.
BLOCKS = (4, 8)


def example_of(
    model: LanguageModel, compiled: CompiledSchema, text: str, truth: object, longest: int = LONGEST
) -> Example | None:
    """Returns the example of a document, None if its truth does not fit the schema or if it is longer than `longest`.

    Of some documents, chosen by their text, a part of the values is known and not asked for, as in an escalation.
    """
    try:
        record = parse(compiled.canonical(truth))
    except CinnabarError:
        return None
    form, known, rng = compiled.form, dict[str, str | None](), random.Random(text)
    if isinstance(form.root, ObjectNode) and rng.random() < KNOWN:
        share = rng.random()
        for place in form.root.properties:
            if isinstance(place.node, Slot) and rng.random() < share:
                value = record.pop(place.name, None)
                known[f"/{escape(place.name)}"] = None if value is None else scalar_text(value)
    asked = Remaining(Request("", form, text_passage(text), known)).form
    if asked is None:
        return None
    made = answered(model, messages(asked, known, text), one_line(json_text(record)))
    fits = len(made.prompt) + len(made.answer) <= longest and len(made.answer) <= ANSWER
    # A token takes 36 bytes in a tuple.
    return Example(array("H", made.prompt), array("H", made.answer)) if fits else None  # type: ignore[arg-type]


def prepare(data: Path, run: Path) -> None:
    """Writes the examples of the run that are not there yet."""
    folder = run / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    model = fresh_language_model(run / "base", "cpu", "float32")
    recipe = load_recipe()
    for name in recipe.sets:
        if name not in WITHHELD and not (folder / f"set_{name}.pickle").exists():
            _write(folder / f"set_{name}.pickle", _of_set(model, data / name), DOCUMENTS)
    for path in sorted((data / "reading").glob(f"*{SUFFIX}")):
        place = folder / f"reading_{path.name.removesuffix(SUFFIX)}.pickle"
        if not place.exists():
            _write(place, _of_reading(model, path), READING)
    for family in FAMILIES:
        if not (folder / f"family_{family}.pickle").exists():
            _write(folder / f"family_{family}.pickle", _of_family(model, family), MADE)


def _write(place: Path, examples: Iterator[Example | None], most: int) -> None:
    found: list[Example] = []
    for example in examples:
        if example is not None:
            found.append(example)
        if len(found) == most:
            break
    part = place.with_suffix(".part")
    part.write_bytes(pickle.dumps(found, protocol=5))
    part.replace(place)
    print(f"{place.stem}: {len(found)} examples", flush=True)


def _of_set(model: LanguageModel, folder: Path) -> Iterator[Example | None]:
    settings = load_recipe().sets[folder.name]
    compiled = compile_schema(read_schema((folder / "schema.json").read_text(encoding="utf-8")))
    for document in labelled_documents(folder):
        if not is_held_back(document.file, document.truth, settings) and len(document.passage.text) < 4 * LONG:
            yield example_of(model, compiled, document.passage.text, document.truth, LONG)


def _of_reading(model: LanguageModel, path: Path) -> Iterator[Example | None]:
    for line in reading_lines(path):
        if line["part"] == "train" and len(line["text"]) < 4 * LONGEST:
            yield example_of(model, compile_schema(closed(line["schema"])), line["text"], line["truth"])


def _of_family(model: LanguageModel, family: str) -> Iterator[Example | None]:
    for tried, made in enumerate(generate(1, [family])):
        if tried == 3 * MADE:
            return
        yield example_of(model, compile_schema(made.schema), made.text, made.truth)


def run_training(run: Path, steps: int, minutes: float, batch: int, rate: float, device: str) -> None:
    """Trains from the base, or goes on from the run's checkpoint. Embeddings stay as they are."""
    model = fresh_language_model(run / "base", "cpu", "float32")
    kinds: dict[str, list[list[Example]]] = {kind: [] for kind in SHARES}
    for path in sorted((run / "examples").glob("*.pickle")):
        examples = pickle.loads(path.read_bytes())
        if len(examples) > 3:
            kinds[path.stem.partition("_")[0]].append(examples)
    print({kind: (len(found), sum(map(len, found))) for kind, found in kinds.items()}, flush=True)
    pages = Pages(most=8, two_answers=0.05)

    def draw(count: int, _: float, rng: random.Random) -> Sequence[Example]:
        found: list[Example] = []
        for _ in range(count):
            at = rng.random()
            for kind, share in SHARES.items():
                at -= share
                if at < 0 and kinds[kind]:
                    sources = kinds[kind]
                    source = rng.choices(sources, [len(one) ** 0.5 for one in sources])[0]
                    # The shorter one of two: long documents stay, and there are more documents in the same time.
                    found.append(min(rng.choices(source, k=2), key=lambda one: len(one.prompt)))
                    break
            else:
                found += page_examples(model, pages, 1, rng)
        return found

    decoder = _trained(model)
    config = DiffusionTraining(
        minutes=minutes, steps=None if minutes else steps, batch=batch, matrix_rate=None, rate=rate, warmup=0.01,
        decay=0.6, few_bits=0.9, blocks=BLOCKS, noise=NOISE, save_every=240.0,
    )  # fmt: skip
    train_diffusion(
        decoder, draw, model.tokenizer.end, config, run,
        lambda row: print({name: round(value, 3) for name, value in row.items()}, flush=True), device_of(device),
    )  # fmt: skip


def _trained(model: LanguageModel) -> Decoder:
    """Returns the model's decoder; what is trained of it requires a gradient: all but the embeddings."""
    decoder = model.decoder.requires_grad_(True)
    for kept in (decoder.model.embed_tokens, decoder.lm_head):
        kept.requires_grad_(False)
    return decoder


def export(run: Path, out: Path, block: int) -> None:
    """Writes the weights of the checkpoint as a folder in Hugging Face form, to be run with this size of block."""
    model = fresh_language_model(run / "base", "cpu", "float32")
    decoder = _trained(model)
    kept = torch.load(run / CHECKPOINT, map_location="cpu", weights_only=True, mmap=True)
    for weight, stored in zip([w for w in decoder.parameters() if w.requires_grad], kept["weights"], strict=True):
        weight.data.copy_(stored)
    out.mkdir(parents=True, exist_ok=True)
    for path in [*(run / "base").glob("*.json"), *(run / "base").glob("*.jinja")]:
        # The confidence of weights that ship is not that of those trained from them.
        if path.name != CALIBRATION:
            shutil.copy(path, out / path.name)
    # Masking again mended too few records to tell, or took many passes (docs/model/diffusion.md has the counts).
    decoder.traits = replace(decoder.traits, block=block, revises=False)
    save_decoder(out, decoder.requires_grad_(False).to(torch.bfloat16), "int8")
    print(f"{out}: after {kept['step']} steps, {kept['spent'] / 60:.0f} minutes")


def main() -> None:
    """Runs the command of the module's docstring."""
    training: dict[str, float | str] = {"steps": 4000, "minutes": 0.0, "batch": 2560, "rate": 1.5e-4, "device": "auto"}
    asked = command(__doc__, training, {"packed": 0, "block": BLOCKS[1]})
    if asked.command == "prepare":
        prepare(asked.data, asked.run)
    elif asked.command == "train":
        run_training(asked.run, asked.steps, asked.minutes, asked.batch, asked.rate, asked.device)
    else:
        whole = asked.run / "tuned" if asked.packed else asked.out
        export(asked.run, whole, asked.block)
        if asked.packed:
            size = pack(whole, asked.out)
            shutil.copy(LICENCE, asked.out)
            print(f"{asked.out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
