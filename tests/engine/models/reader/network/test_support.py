"""Support: the evidence of a window for an option, and for the yes to a question."""

from __future__ import annotations

import torch
from tests.support.tiny_network import form_of, passage_of, tiny_model, tiny_network, wordpieces

from cinnabar.engine.models.reader.inputs.questions import Question, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import sheet
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.network.support import BLOCK, SIGNS, covering_pieces, share_covered, support
from cinnabar.engine.models.reader.scoring.choices import OptionLook, choice_windows, option_support

FILLER = "the and of with for that this from have been " * 60


def _words() -> torch.Tensor:
    """Vectors of the vocabulary; no two are alike."""
    torch.manual_seed(1)
    return torch.randn(wordpieces().size, 64)


def _ids(text: str) -> torch.Tensor:
    return torch.tensor(wordpieces().ids(text))


def _labels(*labels: str) -> torch.Tensor:
    return question_tensors([Question(label, "") for label in labels], wordpieces()).label


def _most(text: str, *labels: str) -> list[float]:
    ids = _ids(text)
    (found,) = share_covered(_words(), _labels(*labels), ids[None], torch.ones(1, len(ids)) > 0)
    most: list[float] = found.amax(-1).tolist()
    return most


def test_a_statement_is_covered_by_the_words_that_it_has_in_the_text() -> None:
    whole, half, none = _most("cancel my transfer", "cancel transfer", "cancel luggage", "lost luggage")
    assert whole > 0.99 and 0.2 < half < 0.8 and none < 0.1


def test_words_far_from_each_other_do_not_cover_a_statement_together() -> None:
    (near,) = _most(f"audit rights {FILLER}", "audit rights")
    (far,) = _most(f"audit {FILLER} rights", "audit rights")
    assert near > 0.99 and far < 0.9


def test_words_outside_of_the_stretch_do_not_count() -> None:
    ids = _ids("cancel transfer and then lost luggage")
    where = torch.arange(len(ids)) > 2
    (found,) = share_covered(_words(), _labels("cancel transfer", "lost luggage"), ids[None], where[None])
    cancel, lost = found.amax(-1).tolist()
    assert cancel < 0.1 and lost > 0.99


def test_padding_of_a_statement_changes_nothing() -> None:
    network = tiny_network()
    question, longer = Question("audit rights", "who may look"), Question("a", "b " * 20)
    asked, alone = (question_tensors(q, wordpieces()) for q in ([question, longer], [question]))
    ids = _ids("the buyer has audit rights")[None]
    states = torch.randn(1, ids.shape[1], network.size.hidden)
    found = []
    with torch.inference_mode():
        for questions in (asked, alone):
            statements = network.encode_questions(questions).statements
            stated = statements[torch.tensor([[0]])]
            found.append(support(network.encoder.words.weight, ids, states, ids > 0, stated))
    assert found[0].shape == (1, 1, SIGNS)
    torch.testing.assert_close(found[0], found[1])


def test_the_covering_piece_lies_where_the_words_stand_together() -> None:
    text = f"{FILLER} the seller has audit rights at any time {FILLER}"
    ids = _ids(text)
    asked = question_tensors([Question("audit rights", "")], wordpieces())
    cores = [(i, min(i + 200, len(ids))) for i in range(0, len(ids), 200)]
    ((at,),) = covering_pieces(_words(), asked.label, asked.note, [(ids.numpy(), cores)])
    audit = ids.tolist().index(wordpieces().ids("audit")[0])
    assert abs(at - audit) <= 2 * BLOCK


def test_a_statement_without_words_in_the_text_is_covered_at_its_beginning() -> None:
    ids = _ids(FILLER)
    asked = question_tensors([Question("xylophone", "")], wordpieces())
    cores = [(0, 200), (200, len(ids))]
    ((at,),) = covering_pieces(_words(), asked.label, asked.note, [(ids.numpy(), cores)])
    assert at < 200


def test_a_choice_is_decided_in_the_window_with_most_of_its_words() -> None:
    model = tiny_model()
    model.network.encoder.words.weight.data = torch.randn_like(model.network.encoder.words.weight)
    form = form_of(name={"type": "string"}, audit_rights={"type": "boolean"})
    memory = model.encode([passage_of(f"{FILLER} {FILLER} the seller has audit rights {FILLER}")])[0]
    (homes,) = choice_windows(model.network, form, model.form(form), [memory])
    (home,) = homes.values()
    window = memory.windows[home]
    audit = memory.pieces.ids.tolist().index(wordpieces().ids("audit")[0])
    assert len(memory.windows) > 2 and window.core_first <= audit < window.core_last


def test_a_row_supports_only_its_own_options() -> None:
    model = tiny_model()
    model.network.encoder.words.weight.data = torch.randn_like(model.network.encoder.words.weight)
    form = form_of(kind={"enum": ["tea", "coffee"]})
    memory = model.encode([passage_of("tea for you\ncoffee for me\n")])[0]
    with torch.inference_mode():
        looks = [OptionLook(memory, form.slots[0], 0, place, 0, 0) for place in (RowExtent(0, 3), RowExtent(3, 6))]
        page = sheet([(memory.pieces, memory.windows[0])])
        read = option_support(model.network, form, model.form(form), looks, page, memory.states)
        first, second = (found[:, 0].tolist() for found, _ in read)
    assert first[0] > 0.99 > 0.2 > first[1] and second[1] > 0.99 > 0.2 > second[0]
