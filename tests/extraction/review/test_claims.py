"""A claim tells who works on a document, ends by itself, and holds nobody up for long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.review.auditing import Claims

BILL, NOTE = ("d1", "bill"), ("d2", "note")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_second_person_is_told_who_has_it_and_gets_it_when_they_go_on() -> None:
    claims = Claims()
    assert claims.take(BILL, "Ada", "a") is None and claims.take(BILL, "Bob", "b") == "Ada"
    assert claims.of_others("Bob") == {BILL: "Ada"} and claims.of_others("Ada") == {}
    assert claims.take(NOTE, "Ada", "a") is None
    assert claims.take(BILL, "Bob", "b") is None


def test_a_tab_has_one_document_and_another_window_of_a_person_may_take_it_over() -> None:
    claims = Claims()
    claims.take(BILL, "Ada", "a")
    claims.take(NOTE, "Ada", "a")
    assert claims.of_others("Bob") == {NOTE: "Ada"}
    assert claims.take(NOTE, "Ada", "other") is None
    claims.take(BILL, "Ada", "a")
    assert claims.of_others("Bob") == {NOTE: "Ada", BILL: "Ada"}


def test_a_claim_that_nobody_renews_ends() -> None:
    clock = Clock()
    claims = Claims(300, clock)
    claims.take(BILL, "Ada", "a")
    clock.now = 299
    claims.take(BILL, "Ada", "a")
    clock.now = 500
    assert claims.take(BILL, "Bob", "b") == "Ada"
    clock.now = 600
    assert claims.take(BILL, "Bob", "b") is None


_STEPS = st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("xy"), st.integers(0, 3)), max_size=40)


@given(_STEPS)
def test_no_document_has_two_holders_and_no_tab_two_documents(steps: list[tuple[str, str, int]]) -> None:
    claims = Claims()
    for who, tab, document in steps:
        held = claims.take((str(document), "s"), who, tab)
        assert held is None or claims.of_others(who)[str(document), "s"] == held
    holders = list(claims.of_others("nobody").values())
    assert all(holders.count(who) <= 2 for who in "ABC")


def test_a_person_has_few_claims_at_a_time_and_the_latest_hold() -> None:
    claims = Claims()
    for number in range(1000):
        assert claims.take((f"d{number}", "bill"), "Ada", f"tab {number}") is None
    claims.take(("d950", "bill"), "Ada", "tab 950")
    assert claims.take(("d1000", "bill"), "Bob", "b") is None
    held = {*claims.of_others("Bob")}
    assert held == {(f"d{number}", "bill") for number in range(900, 1000)}
    claims.take(("d1001", "bill"), "Ada", "new")
    assert ("d950", "bill") in claims.of_others("Bob") and ("d900", "bill") not in claims.of_others("Bob")
