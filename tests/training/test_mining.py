"""Mining: lines of the form `Key: value` become labelled passages."""

from __future__ import annotations

from training.generator.generator import Example, check
from training.synthetic import find_pairs, mine

TEXT = "Report of the day\nOwner: Ada Byrne\nPlot number: 17/3   Area: 420 m2\nNote: see below\nNote: twice\n"


def test_keys_that_stand_once_are_found_with_their_values() -> None:
    pairs = {key: TEXT[a:b] for key, (a, b) in find_pairs(TEXT)}
    assert pairs == {"Owner": "Ada Byrne", "Plot number": "17/3", "Area": "420 m2"}


def test_a_mined_passage_is_a_whole_example() -> None:
    for seed in range(20):
        example = mine(TEXT, seed)
        assert example is not None
        assert check(example) == []
        for pointer, ((a, b),) in example.spans.items():
            assert example.truth[pointer[1:]] == example.text[a:b]


def test_a_text_without_keys_gives_nothing() -> None:
    assert mine("Once there was a fox.\nIt ran.", 0) is None


SENT = "From: Ada\nOrder Date: 3 May\nDue Date: 5 June\nShip Name: Arno\nWeight: 3 kg\n\nGreetings\n"


def examples() -> list[Example]:
    return [example for seed in range(80) if (example := mine(SENT, seed)) is not None]


def test_a_head_with_two_keys_means_the_one_that_its_description_does_not_exclude() -> None:
    told = [example for example in examples() if "date" in example.schema["properties"]]
    assert len(told) > 10
    for example in told:
        description = example.schema["properties"]["date"]["description"]
        assert example.truth["date"] == ("5 June" if "Order Date" in description else "3 May")


def test_a_head_whose_only_key_is_excluded_has_no_value_and_without_that_the_value_of_the_key() -> None:
    told = [example for example in examples() if "name" in example.schema["properties"]]
    excluding = [example for example in told if "description" in example.schema["properties"]["name"]]
    others = [example for example in told if example not in excluding]
    assert min(len(excluding), len(others)) > 5
    assert all("Ship Name" in example.schema["properties"]["name"]["description"] for example in excluding)
    assert {example.truth["name"] for example in excluding} == {None} != {example.truth["name"] for example in others}


def test_keys_that_stand_again_below_the_text_keep_their_first_value() -> None:
    longer = [example for example in examples() if len(example.text) > len(SENT) + 30]
    assert len(longer) > 10
    for example in longer:
        assert check(example) == []
        assert all(end <= len(SENT) for ((_, end),) in example.spans.values())
