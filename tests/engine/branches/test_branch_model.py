"""A causal language model as an engine's model: branches behind a document."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.support.branch_checks import check_documents_are_apart, check_records_are_valid
from tests.support.random_schemas import forms
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder, write_checkpoint
from tests.support.whole_texts import whole as whole_text

from cinnabar.engine.branches import branch_model, decoding
from cinnabar.engine.branches.branch_model import BranchAnswer, BranchModel
from cinnabar.engine.branches.constraint import Grounded
from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.branches.forks import Forks, read_branches, read_document
from cinnabar.engine.branches.grounds import item_region
from cinnabar.engine.branches.prompt import begun_record
from cinnabar.engine.engine import Engine
from cinnabar.engine.model import WHOLE, Row
from cinnabar.engine.models.language import checkpoint
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Filled, Request, Result, text_passage
from cinnabar.engine.work_time import told_to
from cinnabar.errors import UnsupportedSchema, UsageError
from cinnabar.schemas import compile_schema

CAUSAL = replace(TRAITS, visibility="causal", noise="none", block=1, shift=True, window=8192)
TEXT = """ACME Ltd., "Works"
Invoice 2024/117 of 9 June 2024

Widget A, large   3   12.50
Widget B          2    5.00
Total due: £52.00 (urgent)
"""
SCHEMA = {
    "title": "invoice",
    "type": "object",
    "properties": {
        "number": {"type": ["string", "null"], "description": "number of the invoice"},
        "total": {"type": ["number", "null"]},
        "date": {"type": ["string", "null"], "format": "date"},
        "state": {"enum": ["urgent", "usual", None]},
        "code": {"type": "string", "pattern": "^[A-Z]{4}$"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "price": {"type": ["number", "null"]},
                    "parts": {"type": "array", "items": {"type": "integer"}},
                },
            },
        },
    },
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = write_checkpoint(tmp_path_factory.mktemp("causal"), traits=CAUSAL, family="qwen3")
    return load_language_model(folder, "cpu")


def request(name: str = "a", text: str = TEXT, schema: dict[str, object] | None = None, **more: object) -> Request:
    return Request(name, compile_schema(schema or SCHEMA).form, text_passage(text), **more)  # type: ignore[arg-type]


def test_a_branch_reads_what_a_text_of_its_own_would() -> None:
    decoder = tiny_decoder(CAUSAL)
    document, own = [5, 9, 11, 40, 41, 42], [[7, 8], [21], [3, 4, 6, 2]]
    with torch.inference_mode():
        forks = Forks(decoder, read_document(decoder, document))
        opened = [forks.open() for _ in own]
        first = read_branches(decoder, [(forks, fork, tokens[:1]) for fork, tokens in zip(opened, own, strict=True)])
        rest = [(forks, fork, tokens[1:]) for fork, tokens in zip(opened, own, strict=True) if tokens[1:]]
        states = [*first, *read_branches(decoder, rest)]
        ends = [states[3], states[1], states[6]]
        for end, tokens in zip(ends, own, strict=True):
            whole = torch.tensor([document + tokens])
            alone = whole_text(decoder, whole, torch.arange(whole.shape[1])[None])[0, -1]
            torch.testing.assert_close(end, alone, atol=1e-4, rtol=1e-4)


def test_a_branch_of_a_branch_goes_on_with_what_that_has_read() -> None:
    decoder = tiny_decoder(CAUSAL)
    with torch.inference_mode():
        forks = Forks(decoder, read_document(decoder, [5, 9, 11]))
        stem = forks.open()
        read_branches(decoder, [(forks, stem, [7, 8, 3])])
        first, second = forks.open(stem), forks.open(stem)
        ends = read_branches(decoder, [(forks, first, [21]), (forks, second, [22, 4])])
        for end, tokens in ((ends[0], [21]), (ends[2], [22, 4])):
            whole = torch.tensor([[5, 9, 11, 7, 8, 3, *tokens]])
            alone = whole_text(decoder, whole, torch.arange(whole.shape[1])[None])[0, -1]
            torch.testing.assert_close(end, alone, atol=1e-4, rtol=1e-4)


def test_a_document_read_behind_kept_keys_is_the_same_to_the_bit() -> None:
    decoder = tiny_decoder(CAUSAL)
    with torch.inference_mode():
        before = read_document(decoder, [5, 9, 11])
        kept = before.held.clone()
        once, again = (read_document(decoder, [7, 1, 2], before) for _ in range(2))
    assert torch.equal(once.held, again.held)
    assert torch.equal(before.held, kept)
    whole = read_document(decoder, [5, 9, 11, 7, 1, 2])
    torch.testing.assert_close(whole.held, once.held, atol=1e-4, rtol=1e-4)


def test_each_copied_value_is_the_reading_of_its_place(model: LanguageModel) -> None:
    (result,) = language_engine(model).fill([request()])
    assert isinstance(result, Filled)
    copied = [leaf for leaf in result.leaves.values() if leaf.origin == "copied" and leaf.text not in (None, "null")]
    assert copied
    for leaf in copied:
        ((start, end),) = leaf.spans
        said = " ".join(TEXT[start:end].split())
        value = json.loads(leaf.text or "")
        printed = str(value) if not isinstance(value, str) else value
        assert printed in (said, said.replace("£", "")) or isinstance(value, float | int) or value == "2024-06-09"
    assert json.loads(result.record)["state"] in ("urgent", "usual", None)


@pytest.mark.parametrize("seed", range(6))
def test_every_record_is_valid_whatever_the_schema(model: LanguageModel, seed: int) -> None:
    check_records_are_valid(model, TEXT, seed)


def test_a_value_does_not_depend_on_other_documents(model: LanguageModel) -> None:
    check_documents_are_apart(model, request, [TEXT, "Nothing here.", TEXT.replace("52", "61"), "Total 4"])


def test_drafts_and_other_documents_change_no_value(model: LanguageModel) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "supports_int8", lambda _: True)
        whole = load_language_model(model.folder, "cpu", "int8")
    texts = [TEXT, "Widget A, large 3 12.50 " * 3, "A short text of 9 June 2024"]
    forms_of = [compile_schema(SCHEMA).form, *(compiled.form for compiled in forms(3, 2))]
    requests = [Request(str(at), form, text_passage(texts[at])) for at, form in enumerate(forms_of)]

    def filled(drafted: int, *batch: Request) -> tuple[list[Result], int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(decoding, "DRAFTED", drafted)
            patch.setattr(decoding, "LIST_ITEMS", 4)
            own = BranchModel(whole)
            return Engine(own).fill(batch), own.branches.passes

    alone, passes = zip(*(filled(0, one) for one in requests), strict=True)
    drafted, fewer = filled(40, *requests)
    assert drafted == [result for (result,) in alone]
    assert filled(7, *reversed(requests))[0] == drafted[::-1]
    assert fewer < sum(passes)
    # What another model was not sure of, here its own values, and others.
    first = drafted[0]
    assert isinstance(first, Filled)
    own = {at: leaf.spans[0] for at, leaf in first.leaves.items() if leaf.spans and "/items" not in at}
    assert own
    # A value that is a draft of the first pass is there a pass earlier.
    total = compile_schema({"type": "object", "properties": {"total": {"type": ["number", "null"]}}}).form
    plain = replace(requests[0], form=total)
    marks = replace(plain, passage=replace(plain.passage, marked={"/total": own["/total"]}))
    assert filled(7, marks)[1] < filled(7, plain)[1]
    for marked in (own, dict.fromkeys(own, (9, 21))):
        shown = replace(requests[0], passage=replace(requests[0].passage, marked=marked))
        for some in (0, 7, 40):
            (again,), _ = filled(some, shown)
            assert again == first


def test_what_is_sure_is_told_and_the_fields_in_doubt_are_asked_once_more(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"field_{at}" for at in range(6)]
    schema = {"type": "object", "properties": {name: {"type": ["string", "null"]} for name in names}}
    asked = [request(str(at), text, schema) for at, text in enumerate((TEXT, TEXT.replace("52", "61")))]
    branches = BranchModel(model)
    (memory,) = branches.encode([asked[0].passage])
    form = asked[0].form
    branches._ask([(form, memory, (), [(slot, -1) for slot in form.slots])])
    first = {form.slots[at].path: answer for (_, at, _), answer in memory.answers.items()}
    shares = sorted(min(answer.share, 1 - answer.null) for answer in first.values())
    monkeypatch.setattr(branch_model, "SURE_VALUE", shares[3])
    heads, encode = list[str](), BranchModel._encode

    def encoding(own: BranchModel, text: str) -> list[int]:
        heads.append(text)
        return encode(own, text)

    monkeypatch.setattr(BranchModel, "_encode", encoding)
    composed = list[str]()
    with monkeypatch.context() as patched:
        patched.setattr(BranchModel, "_free", lambda _, slot, *__: composed.append(slot.path))
        branches._ask_doubted([(form, memory, [(slot, -1) for slot in form.slots])])
    assert not composed, "only the first round puts values together"
    (told,) = [one for one in heads if one.count('": "')]
    known = json.loads(told.rstrip(",") + "}")
    second = {form.slots[at].path: answer for (_, at, _), answer in memory.answers.items()}
    for name in names:
        # An answer behind what is told has another share, and without one there is null.
        assert (second[f"/{name}"] == first[f"/{name}"]) is (name in known) and second[f"/{name}"].null < 1
    heads.clear()
    (alone,) = language_engine(model).fill(asked[:1])
    assert len(known) == 3 and all(value in " ".join(TEXT.split()) for value in known.values())
    again = [one for one in heads if one.startswith(' "')]
    assert again == [f' "{name}":' for name in names if name not in known]
    assert language_engine(model).fill(asked)[0] == alone


def test_only_what_each_record_has_is_told(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    text = {"type": "string"}
    kinds = [{"type": "object", "properties": {"k": {"const": k}, "number": text}, "required": ["k"]} for k in "ab"]
    within = {"type": "object", "properties": {"b": text}}
    properties = {"version": {"const": "1.0"}, "pay": {"oneOf": kinds}, "a.b": text, "a": within}
    schema = {"type": "object", "properties": properties | {"one": text, "two": text, "long": text}}
    branches = BranchModel(model)
    form = compile_schema(schema | {"required": ["version", "pay"]}).form
    (memory,) = branches.encode([text_passage(TEXT)])
    sure = BranchAnswer(0.0, b'"52"', ((0, 2),), 0.99, "generated")
    doubted = BranchAnswer(0.2, b'"61"', ((0, 2),), 0.3)
    slots = [(slot, -1) for slot in form.slots if "*" not in slot.path]
    for slot, _ in slots:
        memory.answers[form.fingerprint, slot.index, WHOLE] = doubted if slot.path == "/two" else sure
    long = next(slot for slot in form.slots if slot.path == "/long")
    memory.answers[form.fingerprint, long.index, WHOLE] = replace(sure, text=b'"%s"' % (b"x" * 101))
    told: list[dict[str, str]] = []
    monkeypatch.setattr(branch_model, "begun_record", lambda values: told.append(values) or begun_record(values))
    branches._ask_doubted([(form, memory, slots)])
    assert told == [{"one": "52"}]


@pytest.mark.parametrize("budget", [1, 100_000])
def test_shares_of_the_work_are_told_document_by_document(model: LanguageModel, budget: int) -> None:
    shares: list[float] = []
    with told_to(shares.append):
        Engine(BranchModel(model), token_budget=budget).fill([request("a"), request("b")])
    # Two documents one by one, or the lists of both and then the fields of both.
    quarters = [math.ceil(4 * share) for share in shares]
    assert quarters == sorted(quarters) and {*quarters} == {1, 2, 3, 4}
    assert len({*shares}) > 8


def test_a_model_keeps_few_of_the_forms_that_it_meets(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cinnabar.engine.branches.branch_model.FORMS_KEPT", 3)
    branches = BranchModel(model)
    for compiled in forms(0, 5):
        Engine(branches).fill([Request("a", compiled.form, text_passage(TEXT))])
    assert (len(branches._prompts), len(branches._begun)) == (3, 2)


def test_a_known_value_is_not_asked_for(model: LanguageModel) -> None:
    branches = BranchModel(model)
    engine = Engine(branches)
    (result,) = engine.fill([request(known={"/number": '"X1"', "/total": None})])
    assert isinstance(result, Filled)
    assert json.loads(result.record)["number"] == "X1"


def test_an_empty_document_has_no_values(model: LanguageModel) -> None:
    (result,) = language_engine(model).fill([request(text="")])
    assert isinstance(result, Filled)
    record = json.loads(result.record)
    assert record["total"] is None
    assert record["items"] == []


def test_a_schema_larger_than_the_window_is_refused(model: LanguageModel) -> None:
    many = {f"field_{at}": {"type": "string", "description": "what it is " * 20} for at in range(200)}
    with pytest.raises(UsageError, match="smaller schema"):
        language_engine(model).prepare(compile_schema({"type": "object", "properties": many}).form)


def test_a_text_to_be_worded_is_written_freely_and_says_so(model: LanguageModel) -> None:
    note = {"type": "string", "maxLength": 12, "x-cinnabar-written": True}
    schema = {"type": "object", "properties": {"note": note}, "required": ["note"]}
    (result,) = language_engine(model).fill([request(schema=schema)])
    assert isinstance(result, Filled)
    leaf = result.leaves["/note"]
    assert leaf.origin == "generated" or leaf.missing
    assert compile_schema(schema).form.slots[0].accepts((leaf.text or "").encode())


def test_what_a_schema_leaves_unsaid_does_not_change_its_fingerprint() -> None:
    plain = {"type": "object", "properties": {"note": {"type": "string"}}}
    worded = {"type": "object", "properties": {"note": {"type": "string", "x-cinnabar-written": True}}}
    unsaid = {"type": "object", "properties": {"note": {"type": "string", "x-cinnabar-written": False}}}
    prints = [compile_schema(schema).form.fingerprint for schema in (plain, unsaid, worded)]
    assert prints[0] == prints[1] != prints[2]


def test_a_mark_of_another_kind_is_refused() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string", "x-cinnabar-written": "yes"}}}
    with pytest.raises(UnsupportedSchema, match="expected true or false"):
        _ = compile_schema(schema).form


@pytest.mark.parametrize(
    ("regions", "names"),
    [
        (
            ["It took 3 hours to mend Mill 7. ", "It took 5 hours to mend Saw 2. ", "Loom failed.\n", "Pump 6 ran.\n"],
            ["Mill", "Saw", "Loom", "Pump"],
        ),
        (["Mill 7 failed. It took 3 hours. ", "Saw 2 failed. It took 5 hours. ", "Loom ran."], ["Mill", "Saw", "Loom"]),
        (["By J. Smith, ", "A. Jones, ", "Dr. Brown"], ["By", "A. Jones", "Dr. Brown"]),
        (["Bolts took approx. 3 hours, ", "Nuts No. 5 took approx. 4 hours"], ["Bolts", "Nuts"]),
    ],
)
def test_an_item_within_a_line_has_the_sentence_of_its_first_words(regions: list[str], names: list[str]) -> None:
    text = "".join(regions)
    # Two items that begin at one place have one region.
    rows = [Row(0, -1, text.index(name), 0.9) for name in [*names, names[0]]]
    assert [text[slice(*item_region(rows, row, text))] for row in range(len(rows))] == [*regions, regions[0]]


def test_the_region_of_a_nested_item_lies_within_its_parent() -> None:
    text = "Saw 2 ran. Pump 6 lost Ann and Bob.\nMill 7 ran.\n"
    rows = [Row(0, -1, text.index(name), 0.9) for name in ("Saw", "Pump", "Mill")]
    rows += [Row(1, 1, text.index(name), 0.9) for name in ("Ann", "Bob")]
    assert [text[slice(*item_region(rows, row, text))] for row in (1, 3, 4)] == [
        "Pump 6 lost Ann and Bob.\n", "Pump 6 lost Ann and ", "Bob.\n"
    ]  # fmt: skip


@pytest.mark.parametrize(("share", "taken"), [(0.3, "near"), (0.02, "far")])
def test_the_next_item_of_a_list_is_sought_near_the_one_before(model: LanguageModel, share: float, taken: str) -> None:
    text = "one two\nthree four\n" + "other words\n" * 80 + "five six\n"
    branches = BranchModel(model)
    (memory,) = branches.encode([text_passage(text)])
    grounded = Grounded(memory.grounds.stretches, branches.tokens)
    places = memory.grounds.stretches.written
    items = [decoding.BranchItem(((0, 3),), 0.9), decoding.BranchItem(((8, 13),), 0.9)]
    listing = decoding.BranchListing([], grounded, items)
    state = tuple(pair for pair in grounded.first() if pair[0] >= 13)
    shares = np.zeros(1 + max(branches.tokens.texts), np.float32)

    def weigh(word: bytes, share: float) -> None:
        begin = places.rindex(word)
        shares[max(dict(memory.grounds.stretches.edges(begin)))] = share

    weigh(b"four", share)
    weigh(b"six", 0.9 - share)
    near, part = decoding._near(listing, state, shares)
    assert part == pytest.approx(share / 0.9 if taken == "near" else 1.0)
    move = grounded.move(near, shares)
    assert move is not None and isinstance(move.state, tuple)
    begins = {begin for begin, _ in move.state}
    assert begins == {places.rindex(b"four" if taken == "near" else b"six")}


def test_an_item_that_begins_like_one_near_by_is_found_further_away(model: LanguageModel) -> None:
    text = "Saw 11 ran, not Saw 12.\n" + "other words\n" * 80 + "Saw 13 ran\n"
    branches = BranchModel(model)
    (memory,) = branches.encode([text_passage(text)])
    listing = decoding.BranchListing([], Grounded(memory.grounds.stretches, branches.tokens))
    forks = Forks(model.decoder, read_document(model.decoder, [1, 2]))
    token, said = branches.tokens.token, [b"Saw 11", b"Saw 13"]
    read: dict[int, list[int]] = {}

    def think(piece: decoding.BranchPiece) -> list[np.ndarray]:
        """Returns the shares of a model that means the items of `said`, whatever it has been made to write."""
        own = read.setdefault(piece.fork.number, [])
        own[:] = [*(own or read[0])[: piece.fork.length], *piece.tokens]
        piece.fork.length = len(own)
        shares = []
        for end in range(len(own) - piece.wanted + 1, len(own) + 1):
            opening = b"".join(branches.tokens.texts.get(one, b"") for one in own[:end])
            *before, open_item = opening.split(b'"')[1:] or [b""]
            item, is_closed = divmod(len(before), 2)
            if is_closed:
                following = b"," if item + 1 < len(said) else b"]"
            else:
                following = said[item].removeprefix(open_item)[:1] if said[item].startswith(open_item) else b""
            shares.append(np.zeros(model.traits.vocabulary, np.float32))
            shares[-1][token[following or b'"']] = 0.9
        return shares

    steps = branches.branches._list(forks, listing)
    with contextlib.suppress(StopIteration):
        piece = next(steps)
        while True:
            piece = steps.send(think(piece))
    written = memory.grounds.stretches.written
    found = [written[slice(*min(item.pairs))] for item in listing.items]
    assert found == said
