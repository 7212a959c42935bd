"""A training batch: its questions, its pages and its targets."""

from __future__ import annotations

import random

import torch
from tests.support.cases import each
from tests.support.tiny_network import BILL, bill, bills, labelled, wordpieces

from cinnabar.engine.models.reader.inputs.tensors import KINDS, STATES
from cinnabar.engine.models.weights import NO_VALUE
from cinnabar.engine.training.batches import TrainingBatch, collate
from cinnabar.engine.training.examples import IGNORE, draw_window

PASSAGES = [*bills(5), *bills(2, longest=40), labelled("", BILL, bill(0)[1])]


def batches(count: int) -> list[TrainingBatch]:
    draws = [random.Random(seed) for seed in range(count)]
    drawn = [[(p, draw_window(p, r)) for p in r.choices(PASSAGES[:-1], k=4)] for r in draws]
    return [collate(d, wordpieces(), r) for d, r in zip(drawn, draws, strict=True)]


BATCHES = batches(25)


@each("batch", BATCHES)
def test_places_and_targets_are_in_bounds(batch: TrainingBatch) -> None:
    board, targets, page = batch.board, batch.targets, batch.sheet
    t, asked = page.ids.shape[1], len(batch.questions.ids)
    assert board.question.min() >= 0 and board.question.max() < asked
    assert board.kind.max() < len(KINDS) and board.state.max() < len(STATES)
    assert board.anchor.max() < t and (board.until <= t).all()
    assert (board.until > board.anchor).all()
    assert board.span.min() >= 0 and board.span.max() <= t
    assert targets.spans.min() >= -1 and targets.spans.max() < t
    assert targets.choice_options.numel() == 0 or targets.choice_options.max() < asked
    for place, options in zip(targets.choice, targets.choice_options, strict=True):
        assert options[place] >= 0
    assert set(targets.absent[~targets.absent.isnan()].tolist()) <= {0.0, 1.0}


def test_the_true_span_is_always_allowed_and_lies_on_the_page() -> None:
    seen = 0
    for batch in BATCHES:
        targets = batch.targets
        for i, j, k in (targets.spans[..., 0] >= 0).nonzero().tolist():
            first, last = targets.spans[i, j, k].tolist()
            assert first <= last
            assert targets.starts[i, j, first] and targets.ends[i, last]
            assert batch.sheet.mask[i, first : last + 1].all()
            assert targets.absent[i, j] == 0.0
            seen += 1
    assert seen > 50


def test_every_kind_of_target_comes_up() -> None:
    assert any(len(b.targets.choice) for b in BATCHES)
    assert any((b.targets.boolean != IGNORE).any() for b in BATCHES)
    assert any(b.targets.rows.any() for b in BATCHES)
    assert any((b.targets.absent == 1).any() for b in BATCHES)
    states = {STATES[s] for b in BATCHES for s in b.board.state[b.board.mask].tolist()}
    assert {"open", "copied", "chosen"} <= states


def test_the_beginnings_of_rows_are_tagged_where_they_stand() -> None:
    passage = PASSAGES[0]
    batch = collate([(passage, passage.windows[0])], wordpieces(), random.Random(0))
    (tags,) = batch.targets.rows
    begins = [passage.pieces.start[p - 1] for p in tags.nonzero()[:, 0].tolist()]
    lines = [passage.text[passage.text.rfind("\n", 0, b) + 1 :].split()[1] for b in begins]
    assert lines == [line["name"] for line in bill(0)[1]["lines"]]


def test_the_same_seed_makes_the_same_batch() -> None:
    again = batches(2)
    for one, two in zip(BATCHES, again, strict=False):
        assert torch.equal(one.board.question, two.board.question)
        assert torch.equal(one.targets.spans, two.targets.spans)
        assert torch.equal(one.questions.ids, two.questions.ids)


def test_documents_of_one_schema_share_their_questions() -> None:
    drawn = [(p, p.windows[0]) for p in PASSAGES[:4]]
    batch = collate(drawn, wordpieces(), random.Random(1))
    slots, options = 8, 3
    assert len(batch.questions.ids) <= slots + 1 + options


def test_a_passage_without_text_makes_a_batch_without_places() -> None:
    empty = PASSAGES[-1]
    batch = collate([(empty, empty.windows[0])], wordpieces(), random.Random(0))
    assert not batch.targets.starts.any() and (batch.targets.spans == -1).all()


def test_labelled_values_have_the_tag_of_their_kind_and_the_rest_of_a_listed_page_none() -> None:
    text = "Ann Lee met Bo Fox in Rome. They like it."
    listed = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"people": listed, "places": listed}}
    passage = labelled(text, schema, {"people": ["Ann Lee", "Bo Fox"], "places": ["Rome"]})
    drawn = [(passage, passage.windows[0])]
    tags = collate(drawn, wordpieces(), random.Random(0), {"people": 0, "places": 2}).targets.tags[0]
    words = [text[a:b] for a, b in zip(passage.pieces.start, passage.pieces.end, strict=True)]
    told = dict(zip(words, tags[1 : len(words) + 1].tolist(), strict=True))
    assert (told["Ann"], told["Lee"], told["Fox"], told["Rome"]) == (0, 0, 0, 2)
    assert told["met"] == told["like"] == NO_VALUE
    untold = collate(drawn, wordpieces(), random.Random(0)).targets.tags
    assert bool((untold == IGNORE).all())
