"""The generator of synthetic documents: the data of every family keeps its promises."""

from __future__ import annotations

import itertools
import random
import re
import time
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from training.generator import family as family_module
from training.generator import locale
from training.generator.family import FamilyError, load_family
from training.generator.generator import FAMILIES, check, generate, join_intervals, make_example
from training.generator.laying_out import lay_out
from training.generator.layout_language import LayoutError, parse
from training.generator.lines import Piece, Style, to_lines
from training.generator.wording import spell

#: The first few documents of a family, and those that `make test-slow` checks beside them.
SEEDS = [range(3), pytest.param(range(3, 20), marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "more"])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_prints_what_its_records_say(name: str, seeds: range) -> None:
    filled = 0
    for seed in seeds:
        e = make_example(name, seed)
        assert check(e) == [], f"{name} with seed {seed}"
        assert e.text.strip()
        assert not re.search(r"\{\{|\}\}|\[\[[?!%*]|[\x02\x04\x05]|@rows|@columns|@col\b", e.text), e.text
        filled += len(e.spans)
        for pointer, at in e.rows.items():
            assert 0 <= at < len(e.text), pointer
        if e.word_boxes is not None:
            start, end, box = e.word_boxes
            assert len(start) == len(end) == len(box)
            assert (box >= 0).all() and (box <= 1.02).all()
            for a, b in zip(start[:40], end[:40], strict=True):
                assert e.text[a:b] == e.text[a:b].strip() != ""
    assert filled >= len(seeds), "a family whose records are nearly always empty"


def test_schemas_are_valid_and_of_many_kinds() -> None:
    schemas = [e.schema for e in itertools.islice(generate(7), 60)]
    for schema in schemas:
        assert jsonschema_rs.meta.is_valid(schema)
    assert len({str(s) for s in schemas}) > 40


def test_held_out_families_are_not_generated_by_default() -> None:
    seen = {e.family for e in itertools.islice(generate(1), 150)}
    assert not [name for name in seen if load_family(name).held_out]


def test_a_text_value_is_what_stands_in_its_spans() -> None:
    checked = 0
    for e in itertools.islice(generate(11, ("invoice", "random_form")), 150):
        for pointer, spans in e.spans.items():
            value = e.truth
            for part in pointer.split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                value = value[int(key)] if isinstance(value, list) else value[key]
            if isinstance(value, str) and not e.text.startswith("> ") and pointer not in e.broken:
                printed = {" ".join(e.text[a:b].split()) for a, b in spans}
                if value in printed and not re.fullmatch(r"[A-Z]{3}|[-0-9]+", value):
                    assert printed == {value}
                    checked += 1
    assert checked > 300


def asked(schema: dict[str, Any]) -> set[str]:
    """The names of all properties of a schema, items of arrays included."""
    if "items" in schema:
        return asked(schema["items"])
    names = set(schema.get("properties", ()))
    return names.union(*(asked(one) for one in schema.get("properties", {}).values()))


def test_fields_that_no_document_has_are_asked_for_and_null() -> None:
    family = load_family("invoice_line_discounts")
    spellings = {spell(n, "snake"): f for f in family.decoys.values() for n in f.names}
    own = {spell(n, "snake") for f in family.fields.values() for n in f.names}
    found = 0
    for seed in range(60):
        example = make_example(family.name, seed)
        names = asked(example.schema) & (spellings.keys() - own)
        found += len(names)
        for pointer in example.spans:
            assert pointer.rpartition("/")[2] not in names, f"{pointer} with seed {seed}"
    assert found > 20


def test_a_decoy_with_the_name_of_a_field_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (family_module, locale):
        monkeypatch.setattr(module, "FAMILIES_FOLDER", tmp_path)
    folder = tmp_path / "slip"
    folder.mkdir()
    (folder / "a.txt").write_text("{{#due}} {{due}}\n")
    told = '[fields]\ndue = {v="date", names="pay by"}\n[decoys]\nlast_day = {kind="date", names="payBy"}\n'
    (folder / "family.toml").write_text(told)
    with pytest.raises(FamilyError, match="slip: fields and decoys are both called"):
        load_family("slip")


def test_a_vat_id_printed_in_groups_is_asked_for_without_its_blanks() -> None:
    grouped = 0
    for e in itertools.islice(generate(5, ("invoice_many_addresses",)), 60):
        for pointer, spans in e.spans.items():
            printed = e.text[slice(*spans[0])]
            if re.fullmatch(r"(DE|FR|IT|GB|ES) [0-9B ]+", printed):
                party, _, name = pointer[1:].rpartition("/")
                value = e.truth[party][name] if party in e.truth else None
                grouped += value == printed.replace(" ", "")
                assert value in (None, printed.replace(" ", ""))
    assert grouped > 5


def test_a_condition_may_name_an_item_by_its_number() -> None:
    ((kind, path, op, want, inner),) = parse("[[?trades[0].type!=buy: sold]]")
    assert (kind, path, op, want) == ("if", "trades[0].type", "!=", "buy")
    assert inner == (("text", "sold"),)


def test_the_generator_is_fast_enough_to_feed_a_trainer() -> None:
    source = generate(5)
    for _ in range(30):
        next(source)
    start = time.process_time()
    for _ in range(150):
        next(source)
    assert 150 / (time.process_time() - start) > 60  # an idle core makes 300 and more


def test_a_cell_that_wraps_keeps_its_pieces() -> None:
    pieces = [Piece("one two three", 1, width=8), Piece("", tab=10), Piece("9.50", 2), Piece("\n")]
    style = Style()
    laid = lay_out(to_lines(pieces, style), style, random.Random(0))
    assert laid.text == "one two   9.50\nthree\n\n"
    assert [laid.text[a:b] for a, b in laid.prints[1]] == ["one two", "three"]
    assert len(join_intervals(laid.prints[1], laid.text)) == 2


def test_running_text_wraps_at_blanks_and_a_value_continues_on_the_next_line() -> None:
    pieces = [Piece("The seller is "), Piece("Acme Holdings Limited", 1), Piece(" of York.\n")]
    style = Style(wrap=20)
    laid = lay_out(to_lines(pieces, style), style, random.Random(0))
    assert laid.text == "The seller is Acme\nHoldings Limited of\nYork.\n\n"
    (span,) = join_intervals(laid.prints[1], laid.text)
    assert laid.text[slice(*span)] == "Acme\nHoldings Limited"


def test_an_unclosed_section_is_an_error_with_its_place() -> None:
    with pytest.raises(LayoutError, match="is missing after"):
        parse("Dear [[{{name}}, here is")
