"""A packet becomes its documents: each with its pages, a path and a digest of its own."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import packet_files
from tests.support.effort import examples
from tests.support.notes import NOTE
from tests.support.reading_model import READING
from tests.support.split_packet import run, split_folder
from tests.support.told_progress import Told

from cinnabar.errors import Overtaken, UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.packets.part import PacketPart, PageRange, named_part
from cinnabar.extraction.filling.packets.boundaries import EdgedLine, PageFeatures, boundaries
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.maintenance.packets import amend, packet_around
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run import extract as extract_module
from cinnabar.extraction.run import packets
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.packets import PACKETS, Packet, PacketStatement, stored_packet
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

PARTS = ["1-2", "3-5", "6-6"]


def names(out: Path) -> list[tuple[str, str]]:
    rows = query(out, "select path, name from note order by path").rows
    return [(Path(path).name, name) for path, name in rows]


def say(out: Path, document: str = "packet.pdf", **said) -> Packet:
    return amend(out, packet_around(out, document), PacketStatement(**said), "ada")


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    path = tmp_path / "packet.pdf"
    path.write_bytes(packet_files.three())
    return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packet that no test changes; `out` beside it holds its documents."""
    path = split_folder(tmp_path_factory.mktemp("kept")).with_name("packet.pdf")
    assert len(names(path.with_name("out"))) == 3
    return path


@pytest.fixture
def out(kept: Path, tmp_path: Path) -> Path:
    """A copy of the results of that packet."""
    return shutil.copytree(kept.with_name("out"), tmp_path / "out")


def test_each_document_of_a_packet_has_a_record_under_its_pages(out):
    assert names(out) == [("packet.pdf#pages=1-2", "A"), ("packet.pdf#pages=3-5", "B"), ("packet.pdf#pages=6-6", "C")]
    rows = query(out, "select packet_pages, pages, packet_certainty from documents order by path").rows
    assert [row[:2] for row in rows] == list(zip(PARTS, (2, 3, 1), strict=True))
    assert all(50 < certainty <= 100 for _, _, certainty in rows)
    assert query(out, "select page from fields where pointer = '/name' order by page").rows == [(2,), (5,), (6,)]
    assert query(out, "select inputs, written from runs").rows == [(3, 3)]


def test_a_second_run_parses_no_packet_whose_boundaries_are_kept(kept, out, monkeypatch):
    monkeypatch.setattr(packets, "_found", lambda *_: pytest.fail("the packet was parsed again"))
    again = run(kept, out)
    assert (again.skips, again.written) == ({"done": 3}, 0)


@pytest.mark.slow
def test_a_packet_longer_than_a_window_has_the_same_documents(scan, tmp_path, monkeypatch):
    monkeypatch.setattr(packets, "WINDOW", 2)
    run(scan, tmp_path / "out")
    assert [Path(path).name.rpartition("=")[2] for path, _ in names(tmp_path / "out")] == PARTS


def test_a_single_document_keeps_its_own_path_and_digest(tmp_path):
    path = tmp_path / "one.pdf"
    path.write_bytes(packet_files.packet([packet_files.page("minutes", "B", n, 3) for n in (1, 2, 3)]))
    run(path, tmp_path / "out")
    assert names(tmp_path / "out") == [("one.pdf", "B")]


@pytest.mark.slow
def test_a_broken_pdf_ends_in_quarantine_and_others_are_split(scan, tmp_path):
    assert scan.parent == tmp_path
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    summary = run(tmp_path, tmp_path / "out")
    assert (summary.written, summary.quarantined) == (3, 1)


@pytest.mark.slow
def test_repeated_sheets_separate_documents_and_blank_pages_stay_with_the_one_before(tmp_path):
    path, sheet = tmp_path / "packet.pdf", ["SEPARATOR SHEET"]
    one = [packet_files.page("recipe", "A", 1, 1), []]
    two, three = ([packet_files.page("recipe", name, 1, 1)] for name in "BC")
    path.write_bytes(packet_files.packet([sheet], one, [sheet], two, [sheet], three))
    run(path, tmp_path / "out")
    assert [Path(p).name.rpartition("=")[2] for p, _ in names(tmp_path / "out")] == ["2-3", "5-5", "7-7"]


def test_a_part_is_found_again_by_its_path_and_digest(scan, out, tmp_path):
    moved = tmp_path / "elsewhere" / "packet.pdf"
    digest = query(out, "select document from note where name = 'B'").rows[0][0]
    size = scan.stat().st_size
    with DocumentLookup(out) as lookup:
        found = lookup.find([f"{scan}#pages=3-5"], digest, size)
    assert isinstance(found, PacketPart) and (found.pages, found.digest) == (PageRange(3, 5), digest)
    moved.parent.mkdir()
    scan.rename(moved)
    with DocumentLookup(out) as lookup:
        assert lookup.find([f"{scan}#pages=3-5"], digest, size) is None
    with DocumentLookup(out, [moved]) as lookup:
        assert lookup.find([f"{scan}#pages=3-5"], digest, size).content == moved


def test_what_a_person_says_of_boundaries_counts_in_the_next_run_and_can_be_taken_back(kept, out):
    say(out, join=[6])
    assert names(out) == [("packet.pdf#pages=1-2", "A")]
    assert run(kept, out).written == 1
    assert [name for name, _ in names(out)] == ["packet.pdf#pages=1-2", "packet.pdf#pages=3-6"]
    say(out, "packet.pdf#pages=3-6", split=[6])
    assert [Path(path).name.rpartition("=")[2] for path, _ in names(out)] == PARTS
    assert run(kept, out).skips == {"done": 3}


def test_a_page_that_cannot_begin_a_document_is_refused(kept, out):
    packet = stored_packet(out, hashlib.sha256(kept.read_bytes()).hexdigest())
    for said in (
        {"split": [1]}, {"split": [7]}, {"split": [3]}, {"join": [2]}, {"turns": {7: 90}}, {"turns": {2: 45}},
        {"kinds": {2: "x"}},
    ):  # fmt: skip
        with pytest.raises(UsageError, match="expected one of"):
            packet.after(PacketStatement(**said), "ada")


def test_a_forgotten_packet_leaves_nothing_behind(kept, out):
    forgotten = forget(out, str(kept))
    assert len(forgotten.digests) == 3 and not names(out)
    assert not [*(out / PACKETS).glob("*.json")]


def test_a_changed_packet_is_not_read_under_the_digest_of_another(scan):
    part = PacketPart(scan, str(scan), "0" * 64, PageRange(1, 2))
    with ParserPool(1) as pool:
        assert pool.submit(part).result().code == "unreadable"


def test_the_pages_of_a_part_have_the_text_of_the_whole(scan):
    whole = parse(scan.read_bytes(), "packet.pdf")
    with ParserPool(1) as pool:
        part = pool.submit(PacketPart(scan, str(scan), whole.digest, PageRange(3, 5))).result()
    own = [one for one in whole.parts if 3 <= one.page <= 5]
    assert part.text == whole.text[own[0].start : own[-1].end]
    assert [one.page for one in part.parts] == [3, 4, 5] and part.digest == PageRange(3, 5).digest(whole.digest)


@examples(60)
@given(st.integers(1, 40), st.data())
def test_every_page_is_in_one_part_or_a_sheet(pages, data):
    sheets = data.draw(st.sets(st.integers(1, pages), max_size=pages - 1))
    likely = {page: data.draw(st.floats(0, 1)) for page in sorted({*range(1, pages + 1)} - sheets)[1:]}
    packet = Packet(digest="0" * 64, pages=pages, version="1", likely=likely, sheets=tuple(sorted(sheets)))
    covered = [page for one, _ in packet.parts() for page in range(one.first, one.last + 1)]
    assert len(covered) == len({*covered}) and {*covered} | sheets == {*range(1, pages + 1)}
    assert all(0 <= sure <= 1 for _, sure in packet.parts())


def test_boundaries_of_others_are_told_as_damaged(tmp_path):
    (tmp_path / PACKETS).mkdir()
    (tmp_path / PACKETS / f"{'0' * 64}.json").write_text('{"digest": 1}')
    with pytest.raises(Exception, match="damaged"):
        stored_packet(tmp_path, "0" * 64)


@examples(40)
@given(
    st.integers(1, 99),
    st.lists(st.tuples(st.integers(1, 99), st.sampled_from([90, 180, 270]))),
    st.text(st.characters(codec="utf-8"), max_size=12),
)
def test_the_path_of_a_part_tells_its_pages_turns_and_kind(first, turns, kind):
    pages = PageRange(first, first + 2, tuple(turns), kind)
    assert named_part(f"a#pages=1-2/{kind}#{pages}") == (f"a#pages=1-2/{kind}", pages)


def test_a_page_that_a_person_turned_is_read_again_as_it_then_lies(kept, out):
    after = say(out, turns={4: 90})
    assert stored_packet(out, after.digest).parts() == after.parts()
    assert [name for name, _ in names(out)] == ["packet.pdf#pages=1-2", "packet.pdf#pages=6-6"]
    assert run(kept, out).written == 1
    assert ("packet.pdf#pages=3-5&turn=4:90", "B") in names(out)
    part = PacketPart(kept, str(kept), after.digest, after.parts()[1][0])
    with ParserPool(1) as pool:
        whole, drawn = pool.submit(part).result(), pool.drawn(part, 4)
    sizes = [(one.width, one.height) for one in whole.parts if one.kind == "page"]
    assert sizes[1] == sizes[0][::-1] and (drawn.parts[0].width, drawn.parts[0].height) == sizes[1]


@pytest.mark.slow
def test_a_blank_page_between_documents_that_look_alike_makes_a_boundary_likelier(tmp_path):
    found = []
    for blank in ([], [[]]):
        path = tmp_path / f"{len(blank)}.pdf"
        pages = [packet_files.page("recipe", "A", 2, 3, 25)[:-2], packet_files.page("minutes", "B", 2, 3, 25)[:-2]]
        path.write_bytes(packet_files.packet([pages[0]], blank, [pages[1]]))
        run(path, tmp_path / "out")
        likely = stored_packet(tmp_path / "out", hashlib.sha256(path.read_bytes()).hexdigest()).likely
        found.append(likely[2 + len(blank)])
    print(found)
    assert found[0] < found[1] > 0.5


def test_two_who_change_a_packet_at_once_are_not_lost(out):
    seen = packet_around(out, "packet.pdf")
    amend(out, seen, PacketStatement(join=[3]), "ada")
    with pytest.raises(Overtaken, match="pages=1-5, pages=6-6"):
        amend(out, seen, PacketStatement(join=[6]), "bob")
    assert names(out) == [("packet.pdf#pages=6-6", "C")]


def test_a_run_leaves_in_the_views_what_the_packet_is_and_nothing_else_of_it(scan, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run(scan, out, split=False)
    run(scan, out)
    parts = [("packet.pdf#pages=1-2", "A"), ("packet.pdf#pages=3-5", "B"), ("packet.pdf#pages=6-6", "C")]
    assert names(out) == parts
    # A person changes it after the run has found its parts.
    real, boundaries = packets.settle_split, packet_around(out, "packet.pdf")
    (out / PACKETS / f"{boundaries.digest}.json").unlink()
    then = lambda store, *more: (say(store.out, join=[6]), real(store, *more))  # noqa: E731
    monkeypatch.setattr(extract_module, "settle_split", then)
    run(scan, out)
    assert names(out) == parts[:1]
    monkeypatch.undo()
    run(scan, out)
    assert names(out) == [parts[0], ("packet.pdf#pages=3-6", "B")]
    # Boundaries that are found again are those of the pages.
    (out / PACKETS / f"{boundaries.digest}.json").unlink()
    run(scan, out)
    assert names(out) == parts


def test_a_file_that_was_read_as_a_whole_stays_until_its_parts_stand_for_it(scan, tmp_path):
    out = tmp_path / "out"
    run(scan, out, split=False)
    run(scan, out, limit=1)
    assert [name for _, name in names(out)] == ["A", "A"]
    (out / PACKETS / "0.json").write_text("{")
    run(scan, out)
    assert [name for _, name in names(out)] == ["A", "B", "C"]
    # Under another schema it was read as a whole on purpose.
    slip = load_schema({**NOTE.schema, "title": "slip"})
    extract([scan], slip, out, READING, RunOptions(workers=1))
    run(scan, out)
    assert len(query(out, "select name from slip").rows) == 1


def test_what_a_person_took_out_stays_out_whatever_is_said_of_the_packet(out):
    digest = query(out, "select document from note where name = 'C'").rows[0][0]
    Corrector(out).correct(digest, "note", [Change(Action.OTHER_KIND, "")], "eva")
    say(out, join=[6])
    with pytest.raises(UsageError, match="no document of its packet"):
        last = Corrector(out).state(digest, "note").corrections[-1]
        Corrector(out).undo(digest, "note", [last.identity], "eva")
    say(out, split=[6])
    assert [name for _, name in names(out)] == ["A", "B"]
    Corrector(out).undo(digest, "note", None, "eva")
    assert [name for _, name in names(out)] == ["A", "B", "C"]


def test_a_sheet_that_was_left_out_becomes_a_document_or_a_page_of_one():
    packet = Packet(digest="d", pages=5, version="1", likely={4: 0.9}, sheets=(1, 3))
    parts = [
        [str(part) for part, _ in packet.after(said, "ada").parts()]
        for said in (PacketStatement(split=[1]), PacketStatement(join=[3]))
    ]
    assert parts == [["pages=1-1", "pages=2-2", "pages=4-5"], ["pages=2-3", "pages=4-5"]]
    assert [str(part) for part, _ in packet.after(PacketStatement(split=[3]), "ada").parts()] == [
        "pages=2-2", "pages=3-3", "pages=4-5",
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"join: expected one of 3, 4, got 1"):
        packet.after(PacketStatement(join=[1]), "ada")


@pytest.mark.parametrize("kind", ["a\nb", "x" * 201])
def test_the_name_of_a_kind_is_one_line(kind):
    with pytest.raises(ValueError, match="kinds"):
        PacketStatement(kinds={1: kind})
    assert PacketStatement(kinds={1: " invoice "}).kinds == {1: "invoice"}


_NUMBERED = ("Page {} of {}", "Invoice 4711    Page {} of {}", "Seite {} von {}", "page {}/{}", "Blatt {} / {}")


@examples(40)
@given(st.sampled_from(_NUMBERED), st.lists(st.sampled_from(["invoice", "minutes"]), min_size=2, max_size=4), st.data())
def test_a_page_whose_number_goes_on_begins_no_document_wherever_it_is_printed(mark, kinds, data):
    # Nothing else tells that these pages belong together.
    pages = []
    for number, kind in enumerate(kinds, 1):
        lines = list(packet_files.page(kind, str(number), 1, 1, 12)[:-2])
        lines.insert(data.draw(st.integers(0, len(lines))), mark.format(number, len(kinds)))
        pages.append(PageFeatures(number, (595.0, 842.0), "\n".join(lines), tuple(map(EdgedLine, filter(None, lines)))))
    likely, _ = boundaries(pages)
    assert max(likely.values()) < 0.05


def test_without_split_a_file_of_several_documents_is_one_document_flagged_and_told(scan, tmp_path):
    (tmp_path / "one.pdf").write_bytes(packet_files.packet([packet_files.page("invoice", "A", n, 2) for n in (1, 2)]))
    told = Told()
    options = RunOptions(workers=1)
    summary = extract([scan, tmp_path / "one.pdf"], NOTE, tmp_path / "out", READING, options, progress=told)
    assert summary.inputs == 2 and not (tmp_path / "out" / PACKETS).exists()
    flagged = query(tmp_path / "out", "select path from note where list_contains(flags, 'several_documents')").rows
    assert [Path(path).name for (path,) in flagged] == ["packet.pdf"]
    assert any("1 file looks like several documents" in text and "--split" in text for text in told.notes)
