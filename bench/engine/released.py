"""Released language models in memory: logits beside `transformers`, start, memory and speed of each GGUF file.

    python -m bench.engine.released FILE.gguf ... [--record]

Each figure is from a process of its own, with a cache folder that is empty at first. `transformers` has the weights as
`training/released_weights.py` turns them back, so that a model of 1.5B takes 7 GB of disk and of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import numpy as np
import torch

from bench.processes import watch
from bench.recording import Row, record
from bench.reporting import machine_line, peak_memory, table
from cinnabar.engine.models.language.cache import CacheRow, PagedCache
from cinnabar.engine.models.language.checkpoint import read_contents, weight_bytes
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.settings import Precision

#: Tokens of a prompt, rows that are decoded together, tokens of each, and tokens whose logits are compared.
PROMPT, ROWS, WRITTEN, COMPARED = 512, 12, 4, 64
#: The documents of a run, and the memory that it may take beside the weights, in GiB.
SET, DOCUMENTS, BESIDE = Path("data/samples/event"), ("programme_fete_chataigne.txt", "webinar_e-invoicing.eml"), 0.75
HEAD = ("file", "first start, s", "then", "its peak, MiB", "prompt, tokens/s", f"{ROWS} rows, tokens/s", "peak, MiB")


def ids_of(model: LanguageModel, count: int) -> list[int]:
    """Returns so many tokens of the sample documents."""
    texts = (path.read_text("utf-8") for path in sorted(Path("data/samples").glob("*/docs/*.txt")))
    return model.tokenizer.encode("\n".join(texts))[:count]


@torch.inference_mode()
def measured(path: str, precision: str, begun: float) -> list[float]:
    """Returns seconds since `begun` (`time.time`), the peak in MiB, tokens/s of prompt and rows, and the last peak.

    Tokens are told for each second of one thread of the processor.
    """
    # Processor time of one thread is the same on a busy machine.
    torch.set_num_threads(1)
    model = load_language_model(path, "cpu", cast(Precision, precision))
    found = [time.time() - begun, float(peak_memory())]
    ids, decoder = np.array(ids_of(model, PROMPT)), model.decoder
    cache = PagedCache(model.traits, ROWS * (PROMPT + WRITTEN), decoder.device, torch.float32)
    passes, rows, seconds = Passes(decoder, cache), [CacheRow([]) for _ in range(ROWS)], []
    for row in rows:
        cache.extend(row, PROMPT + WRITTEN)
    for row in rows[:2]:
        begin = time.process_time()
        passes([Piece(row, 0, ids, None, np.array([PROMPT - 1]))])
        seconds.append(time.process_time() - begin)
    found.append(PROMPT / min(seconds))
    seconds = []
    for place in range(PROMPT, PROMPT + WRITTEN):
        begin = time.process_time()
        pieces = [Piece(row, place, ids[-1:], None, np.array([place])) for row in rows]
        decoder.logits(passes(pieces)).argmax(-1)
        seconds.append(time.process_time() - begin)
    return [*found, ROWS / min(seconds), float(peak_memory())]


@torch.inference_mode()
def logits_off(path: str) -> list[float]:
    """Returns how far logits are off at most in float32, in the mean in int8, their spread, and the weights' GiB."""
    import transformers
    from training.released_weights import main as turned_back

    own, places = [], torch.arange(COMPARED)[None]
    for precision in ("int8", "float32"):
        model = load_language_model(path, "cpu", precision)
        tokens = torch.tensor(ids_of(model, COMPARED))[None]
        own.append(model.decoder.logits(model.decoder(tokens, places)))
        size = weight_bytes(read_contents(model.folder, model.traits), "int8") / 2**30
        load_language_model.__globals__["_load"].cache_clear()
        del model
    with tempfile.TemporaryDirectory() as folder:
        turned_back(Path(path), Path(folder))
        theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        wanted = theirs(tokens).logits
    rounded, exact = ((one - wanted).abs() for one in own)
    return [float(exact.max()), float(rounded.mean()), float(wanted.std()), size]


def apart(*arguments: str) -> list[float]:
    """Returns what this module prints in a process of its own."""
    command = [sys.executable, "-m", "bench.engine.released", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_of_run(path: str, folder: str) -> float:
    """Returns the most memory of `cinnabar extract` over a few documents, mapped pages counted, in GiB."""
    docs = (str(SET / "docs" / one) for one in DOCUMENTS)
    command = [str(Path(sys.executable).with_name("cinnabar")), "extract", *docs]
    command += ["--schema", str(SET / "schema.json"), "--out", f"{folder}/out", "--model", path, "--workers", "1"]
    return watch(command, Path(folder, "log")).peak / 2**30


def figures(path: str) -> tuple[list[list[str]], list[Row]]:
    """Returns the rows of the table, and the figures, of a file."""
    lines, rows, name = [], [], Path(path).stem
    for precision in ("int8", "float32"):
        first, then = (apart("--speed", precision, str(time.time()), path) for _ in range(2))
        speeds = [f"{one:.0f}" for one in (*then[1:4], max(first[4], then[4]))]
        lines.append([f"{name} {precision}", f"{first[0]:.1f}", f"{then[0]:.1f}", *speeds])
    off, rounded, spread, size = apart("--logits", path)
    with tempfile.TemporaryDirectory() as folder:
        peak = peak_of_run(path, folder)
    whole = f"{off:.1e}; int8 {rounded:.3f} in the mean, of a spread of {spread:.1f}"
    rows.append(Row(f"{name}: logits beside transformers, float32", "1e-4", whole, off > 1e-4))
    rows.append(Row(f"{name}: memory of a run, GiB", f"{size + BESIDE:.2f}", f"{peak:.2f}", peak > size + BESIDE))
    told = "; ".join(f"{line[0].split()[-1]} {', '.join(line[1:3])}; {', '.join(line[4:6])}" for line in lines)
    rows.append(Row(f"{name}: start in s, first, then; tokens/s of a thread, prompt, {ROWS} rows", "reported", told))
    return lines, rows


def main() -> None:
    """Prints the figures of the files, and with `--record` keeps them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--speed", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--logits", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.speed or options.logits:
        path, (precision, begun) = options.files[0], options.speed or ("", "0")
        print(json.dumps(logits_off(path) if options.logits else measured(path, precision, float(begun))))
        return
    lines, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CINNABAR_CACHE": f"{folder}/cache", "CINNABAR_MODELS": f"{folder}/models"}
        for path in options.files:
            own, kept = figures(path)
            lines += own
            rows += kept
    print(machine_line(torch.device("cpu"), "of each file"), "", table(HEAD, lines), "", sep="\n")
    print(table(("what", "wanted", "got"), [[row.what, row.wanted, row.got] for row in rows]))
    if options.record:
        record("released", "released models", "python -m bench.engine.released", rows, precision="int8")


if __name__ == "__main__":
    main()
