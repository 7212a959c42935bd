"""Checks of the machine: memory, cores, instruction sets, GPU, disk.

The result of a check: what was found, whether it works, and what to do.

The check of the machine's fonts, which stand in for those that a PDF names and does not hold.

Checks of a folder for results: free disk, its lock, its snapshot, and whether this version reads it.

Checks of the installation: versions, shipped models, the parser's processes, OCR, optional extras, the cache.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.version import VERSIONS, values_version
from cinnabar.errors import CinnabarError, DocumentError, ModelError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.ocr.engines import OcrEngine, tesseract_languages
from cinnabar.extras import EXTRAS, PACKAGE, install_line
from cinnabar.schemas.cache_files import cache_folder
from cinnabar.wording import with_noun

GIB = 1 << 30
#: Memory below which a run may be killed, and below which it will be: over one short mail the engine's process takes
#: 549 MB (2 cores, int8), and each parser's process may take up to 1 GiB.
LITTLE_MEMORY, NO_MEMORY = 2 * GIB, GIB // 2
#: Free disk below which a run may stop, and below which it will.
LITTLE_DISK, NO_DISK = 2 * GIB, GIB // 20
_CGROUP = Path("/sys/fs/cgroup")


def machine() -> Iterator[Finding]:
    """Memory, cores with their instruction sets, a GPU, and the folder for temporary files."""
    yield _memory()
    yield _cores()
    yield _gpu()
    yield disk("temporary files", Path(tempfile.gettempdir()), "set TMPDIR to a folder with more room")


def size(count: float) -> str:
    """Bytes as text."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / (1 << 20):.0f} MiB"


def _memory() -> Finding:
    free, whole = _memory_of_machine()
    limit = _number(_CGROUP / "memory.max")
    if limit is not None and limit < whole:
        used = _number(_CGROUP / "memory.current") or 0
        whole, free = limit, min(free, limit - used)
    measured = f"{size(free)} free of {size(whole)}"
    if free < NO_MEMORY:
        return fails("memory", measured, f"free {size(LITTLE_MEMORY)}, or give the container more")
    if free < LITTLE_MEMORY:
        return advises("memory", measured, "large documents may end a run; free some, or set `workers = 1`")
    return ok("memory", measured)


def _memory_of_machine() -> tuple[int, int]:
    """Bytes that are available, and bytes in all."""
    page = os.sysconf("SC_PAGE_SIZE")
    whole = page * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):  # another system than Linux
        free = whole
    return free, whole


def _number(path: Path) -> int | None:
    """The number in a file of the control group; None without a limit."""
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _cores() -> Finding:
    # Cold start: Torch takes a second.
    import torch

    # Cold start: it imports Torch.
    from cinnabar.engine.models.int8_matmul import supports_int8

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    capability = torch.backends.cpu.get_cpu_capability()
    integers = supports_int8(torch.device("cpu"))
    products = "8-bit integers" if integers else "float32"
    measured = f"{cores} of {platform.machine()}, {capability}, products in {products}"
    if not integers:
        slower = "the reader works, but slower: this processor multiplies 8-bit integers inexactly or slowly"
        return advises("cores", measured, slower)
    return ok("cores", measured)


def _gpu() -> Finding:
    # Cold start: Torch takes a second.
    import torch

    if torch.cuda.is_available():
        free, whole = torch.cuda.mem_get_info()
        return ok("GPU", f"{torch.cuda.get_device_name()}, {size(free)} free of {size(whole)}")
    if torch.version.cuda is None and shutil.which("nvidia-smi"):
        return advises("GPU", "PyTorch is a build without CUDA, so it is not used", "install a build with CUDA")
    return ok("GPU", "none; the reader needs none")


def disk(check: str, folder: Path, advice: str) -> Finding:
    """The free disk of a folder."""
    free = shutil.disk_usage(folder).free
    measured = f"{size(free)} free in {folder}"
    if free < NO_DISK:
        return fails(check, measured, advice)
    return advises(check, measured, advice) if free < LITTLE_DISK else ok(check, measured)


class CheckState(StrEnum):
    """Whether a part works as it is, works but deserves a look, or will not work."""

    OK = "ok"
    ADVICE = "advice"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; `advice` says what to do, "" if nothing."""

    check: str
    state: CheckState
    found: str
    advice: str = ""


def ok(check: str, found: str) -> Finding:
    """A part that works."""
    return Finding(check, CheckState.OK, found)


def advises(check: str, found: str, advice: str) -> Finding:
    """A part that works, with something to know."""
    return Finding(check, CheckState.ADVICE, found, advice)


def fails(check: str, found: str, advice: str) -> Finding:
    """A part that will not work."""
    return Finding(check, CheckState.FAILS, found, advice)


def findings_of(checks: Iterable[tuple[str, Callable[[], Iterable[Finding]]]]) -> list[Finding]:
    """The findings of these checks in order; a check that raises has failed itself, and the others go on."""
    findings: list[Finding] = []
    for name, check in checks:
        try:
            findings += check()
        except Exception as error:  # a diagnosis has to survive what it looks for
            findings.append(fails(name, f"{type(error).__name__}: {error}", "run with CINNABAR_DEBUG=1, and report it"))
    return findings


# A page with one letter of a Japanese font that the file does not hold.
_PAGE = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F 4 0 R>>>>/Contents 6 0 R>>endobj
4 0 obj<</Type/Font/Subtype/Type0/BaseFont/Gothic/Encoding/UniJIS-UCS2-H/DescendantFonts[5 0 R]>>endobj
5 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/Gothic/DW 1000
/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>>>endobj
6 0 obj<</Length 33>>stream
BT /F 12 Tf 20 20 Td <5408> Tj ET
endstream endobj
trailer<</Root 1 0 R>>
"""


def fonts() -> Iterator[Finding]:
    """Fonts for Chinese and Japanese."""
    if has_east_asian_font():
        yield ok("fonts", "one has Chinese and Japanese letters")
    else:
        yield advises(
            "fonts",
            "none has Chinese and Japanese letters; of PDFs that name such a font and do not hold it, letters that are"
            " drawn one by one or downwards are lost",
            "install a font with them, such as fonts-noto-cjk or fonts-droid-fallback, if you read such PDFs",
        )


def has_east_asian_font() -> bool:
    """Whether PDFium finds the letters of a Japanese font that a PDF does not hold.

    It drops a text whose letters have no shape, and therefore no width, unless several of them stand side by side.
    """
    # Cold start: PDFium is loaded for this check alone, and no other fails with it.
    import pypdfium2

    with pypdfium2.PdfDocument(_PAGE) as document:
        page = document[0]
        return bool(page.get_textpage().count_chars())


def results_folder(out: Path) -> Iterator[Finding]:
    """The findings about this folder, which need not exist yet."""
    # Cold start: DuckDB and PyArrow, which no other check needs.
    from cinnabar.extraction.corrections.unread import unread_corrections
    from cinnabar.extraction.store.housekeeping import runs, status

    check = f"folder {out}"
    if out.exists() and not out.is_dir():
        yield fails(check, "a file", "name a folder with --out")
        return
    above = next(one for one in (out.absolute(), *out.absolute().parents) if one.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        yield fails(check, f"{above} cannot be written by this user", "change its rights, or choose another --out")
    yield disk("disk", above, "free some, or choose another --out")
    if not os.access(above, os.R_OK | os.X_OK):  # told above; nothing in it can be looked at
        return
    if not out.exists() or not any(out.iterdir()):
        yield ok(check, "no results yet")
        return
    try:
        present = status(out)
        last = runs(out, 1)
    except CinnabarError as error:
        yield fails("results", str(error), f"cinnabar verify --out {out} tells more")
        return
    for path, why in unread_corrections(out).items():
        yield advises("correction", f"{path.relative_to(out)}: {why}", "see docs/corrections.md, During a run")
    records = sum(present.records.values())
    held = sum(present.quarantined.values())
    yield ok("results", f"{with_noun(records, 'record')}, {held} in quarantine, {with_noun(present.runs, 'run')}")
    yield advises("lock", "a run is writing", "wait for it to end before another one") if present.writing else ok(
        "lock", "free"
    )
    if present.snapshot:
        yield ok("snapshot", "shows the last commit")
    else:
        yield advises("snapshot", "behind the last commit, or the folder has moved", "the next run renews it")
    if last and last[0].seconds is None and not present.writing:
        yield advises("last run", f"{last[0].run_id} did not end", "the same command goes on with the rest")


_WHOLE = "install it again: a file of the installation is missing or was changed"


def versions() -> Iterator[Finding]:
    """Cinnabar, Python, and whether each dependency is installed in a version that fits."""
    yield ok("cinnabar", f"{version(PACKAGE)}, values {values_version(*VERSIONS)}")
    yield ok("python", f"{platform.python_version()} on {platform.system()}")
    wrong = []
    needed = [Requirement(text) for text in requires(PACKAGE) or ()]
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    for one in needed:
        try:
            there = version(one.name)
        except PackageNotFoundError:
            wrong.append(f"{one} is not installed")
            continue
        if not one.specifier.contains(there, prereleases=True):
            wrong.append(f"{one.name} is {there}, expected {one.specifier}")
    if wrong:
        yield fails("dependencies", "; ".join(wrong), "make setup, or pip install them in these versions")
    else:
        yield ok("dependencies", f"all {len(needed)} fit")


def models() -> Iterator[Finding]:
    """Whether the weights that ship are whole, by their SHA-256."""
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.weights import check_files

    for check, folder in (("reader", SHIPPED), ("sentence encoder", SHIPPED.parent / "sentences")):
        try:
            card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            check_files(folder, card["files"])
        except (OSError, ValueError, KeyError, ModelError) as error:
            yield fails(check, str(error), _WHOLE)
            continue
        whole = sum(path.stat().st_size for path in folder.iterdir())
        yield ok(check, f"{with_noun(len(card['files']), 'file')}, {whole / 1e6:.0f} MB, whole")


def parser() -> Iterator[Finding]:
    """Whether a bounded process reads a text."""
    with tempfile.TemporaryDirectory() as folder, ParserPool(1) as pool:
        path = Path(folder) / "doctor.txt"
        path.write_text("Invoice 77\n", encoding="utf-8")
        parsed = pool.submit(path).result()
    if isinstance(parsed, Document) and "77" in parsed.text:
        yield ok("parser", "a bounded process reads a text")
    else:
        problem = str(parsed) if isinstance(parsed, DocumentError) else "another text"
        yield fails("parser", problem, "allow processes of this user, with 1 GiB of address space each")


def ocr() -> Iterator[Finding]:
    """The engine that reads scans and images."""
    missing = OcrEngine().setup_advice()
    languages = tesseract_languages()
    tesseract = f"Tesseract: {', '.join(languages)}" if languages else "no Tesseract"
    if missing:
        yield advises("OCR", f"scans and images are not read; {tesseract}", missing)
    else:
        yield ok("OCR", f"RapidOCR {version('rapidocr')}; {tesseract}")


def extras() -> Iterator[Finding]:
    """The optional extras, installed or not; none of them is needed. OCR and Prefect have checks of their own."""
    for name, extra in EXTRAS.items():
        if name not in ("ocr", "flows"):
            install = f"not installed; {install_line(name)} for it"
            yield ok(f"extra {name}", f"{extra.purpose}: {install if extra.missing_packages() else 'installed'}")


def cache() -> Iterator[Finding]:
    """The folder for compiled automata."""
    folder = cache_folder()
    if folder is None:
        yield advises("cache", "off", "unset CINNABAR_CACHE, so that schemas compile once and not in each run")
        return
    above = next(one for one in (folder, *folder.parents) if one.exists())
    if os.access(above, os.W_OK):
        yield ok("cache", str(folder))
    else:
        yield advises("cache", f"{folder} cannot be written", "name another folder with CINNABAR_CACHE")
