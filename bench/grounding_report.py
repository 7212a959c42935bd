"""Measures what grounding can reach, and whether a model copies and composes where it should.

    python -m bench grounding_report ../shared/data --limit 4
    python -m bench grounding_report ../shared/data --limit 3 --decide 300

A true value outside of lists is within reach if a stretch of the document reads as it, or if it can be composed: no
number and no name of it is made up. Choices are within reach. With --decide the model reads the documents, and of so
many texts, as many of each set, whose true value is within reach and that it answered, is counted how often it copied
what some stretch holds and composed what none does; and how many copied values of all kinds their stretch holds. Sets
that train count with the documents held back from training.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.held_back_report import unseen_sets
from bench.reporting import table
from cinnabar.engine.branches.branch_model import is_worded
from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.branches.grounds import Grounds
from cinnabar.engine.branches.stretches import ValueTokens
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.request import Filled, Passage
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.model_sources import local_folder
from cinnabar.extraction.filling.planning import chunks_for, passage_of
from cinnabar.extraction.filling.records.facts import FactValues
from cinnabar.extraction.learning.evaluation import leaves_of
from cinnabar.extraction.learning.pairing import is_right, says_something
from cinnabar.extraction.run.work.labelled_sets import LabelledSet
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.compiling.fact_fields import fact_fields
from cinnabar.schemas.form.form import Form, Slot

#: Ways to a value, the best first.
WAYS = ("chosen", "copied", "composed", "none")


def way_to(slot: Slot, truth: Any, also: Sequence[Any], grounds: Grounds) -> str:
    """Returns how a true value can be reached, one of WAYS."""
    if slot.options:
        return "chosen"
    if kind_of(slot) in TYPED:
        readings = (grounds.reader.read(slot, (start, end)) for start, end, _ in grounds.reader.typed_mentions(slot))
        right = any(text is not None and is_right(truth, json.loads(text), also) for text in readings)
        return "copied" if right else "none"
    if any(_is_printed(str(value), grounds) for value in (truth, *also)):
        return "copied"
    return "composed" if grounds.traces.share(str(truth)) else "none"


def _is_printed(value: str, grounds: Grounds) -> bool:
    """Returns whether a stretch between borders of words is this text, up to blanks and case."""
    places = grounds.stretches
    words = [re.escape(json.dumps(word, ensure_ascii=False)[1:-1]) for word in value.split()]
    begins = frozenset(places.begins)
    for met in re.finditer(" ?".join(words).encode(), places.written, re.IGNORECASE) if words else ():
        if met.start() in begins and met.end() in places.ends:
            return True
    return False


def passages(labelled: LabelledSet, form: Form, pool: ParserPool, engine: Any) -> Iterator[tuple[Any, Any, Passage]]:
    """Yields the truth, the document and the passage of each document that fits one passage."""
    files = {labelled.folder / line["file"]: line for line in labelled.truths}
    for path, read in pool.parse_many(files):
        if isinstance(read, Document) and len(chunks_for(read, engine, form=form)) == 1:
            yield files[path], read, passage_of(read)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--limit", type=int, default=4, help="documents of each set")
    parser.add_argument("--decide", type=int, help="texts that the model decides about")
    asked = parser.parse_args()
    model = load_language_model(local_folder(asked.model), "cpu")
    engine, tokens = language_engine(model), ValueTokens(model.tokenizer.vocabulary)
    reached: dict[str, Counter[str]] = {}
    decided: dict[str, list[bool]] = defaultdict(list)
    held: list[bool] = []
    with ParserPool(1) as pool:
        chosen = unseen_sets(asked.sets, asked.limit)
        most = -(-asked.decide // len(chosen)) if asked.decide else 0
        for labelled in chosen:
            form = compile_schema(load_schema(labelled.folder / "schema.json").schema).form
            slots, counts = {slot.path: slot for slot in form.slots}, Counter[str]()
            for line, document, passage in passages(labelled, form, pool, engine):
                grounds = Grounds(passage, tokens)
                found = _filled(engine, form, document, passage) if len(decided[labelled.name]) < most else None
                for leaf in leaves_of(line, None if found is None else json.loads(found.record), **labelled.options):
                    slot = slots.get("/" + "/".join(leaf.field))
                    if slot is None or slot.binding or "*" in slot.path or not says_something(leaf.truth):
                        continue
                    way = way_to(slot, leaf.truth, leaf.also, grounds)
                    counts[way] += 1
                    told = None if found is None else found.leaves.get(leaf.pointer)
                    text = kind_of(slot) not in TYPED and not slot.options and not is_worded(slot)
                    if told and told.origin in ("copied", "generated") and text and way in ("copied", "composed"):
                        decided[labelled.name].append((told.origin == "copied") == (way == "copied"))
                if found is not None:
                    held += _held(found, slots, grounds)
            reached[labelled.name] = counts
            decided[labelled.name] = decided[labelled.name][:most]
    _tell(reached, decided, held)


def _filled(engine: Any, form: Form, document: Document, passage: Passage) -> Filled | None:
    facts = FactValues.of(document, fact_fields(form))
    (found,) = engine.fill([facts.request(document.digest, form, passage)])
    return found if isinstance(found, Filled) else None


def _held(found: Filled, slots: Mapping[str, Slot], grounds: Grounds) -> Iterator[bool]:
    """Yields of each copied value outside of lists whether its stretch reads as it."""
    for pointer, leaf in found.leaves.items():
        if leaf.origin == "copied" and leaf.spans and pointer in slots:
            yield grounds.reader.read(slots[pointer], leaf.spans[0]) == (leaf.text or "").encode()


def _tell(reached: Mapping[str, Counter[str]], decided: Mapping[str, list[bool]], held: Sequence[bool]) -> None:
    rows = [[name, *(str(own[way]) for way in WAYS), _share(own)] for name, own in reached.items()]
    total = sum(reached.values(), Counter[str]())
    rows.append(["all", *(str(total[way]) for way in WAYS), _share(total)])
    print(table(("set", *WAYS, "within reach"), rows))
    every = [right for own in decided.values() for right in own]
    if every:
        print(f"copied or composed as the document has it: {sum(every)} of {len(every)} texts of {len(decided)} sets")
        print(f"copied values whose stretch reads as them: {sum(held)} of {len(held)}")


def _share(ways: Counter[str]) -> str:
    return f"{1 - ways['none'] / ways.total():.3f}" if ways.total() else "–"


if __name__ == "__main__":
    main()
