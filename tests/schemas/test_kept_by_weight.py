"""What is kept is bounded by what it weighs, not by its number."""

from __future__ import annotations

from cinnabar.schemas.kept_by_weight import KeptByWeight, kept_by_weight


def test_the_values_used_longest_ago_go_first_and_the_newest_stays() -> None:
    kept = KeptByWeight[str, str](10, len)
    for key, value in (("a", "1234"), ("b", "1234")):
        assert kept.put(key, value) == value
    assert kept.put("a", "other") == "1234" and kept.weight == 8
    kept.put("c", "1234")
    assert (kept.get("a"), kept.get("b"), kept.get("c"), kept.weight) == ("1234", None, "1234", 8)
    kept.put("d", "x" * 99)
    assert (kept.get("a"), kept.get("c"), kept.weight) == (None, None, 99)
    kept.clear()
    assert kept.get("d") is None and kept.weight == 0


def test_a_function_computes_again_what_weighed_too_much() -> None:
    asked: list[int] = []

    @kept_by_weight(10, len)
    def text(number: int, *, sign: str = "x") -> str:
        asked.append(number)
        return sign * number

    assert [text(4), text(4), text(4, sign="y"), text(4)] == ["xxxx", "xxxx", "yyyy", "xxxx"]
    assert text(9) == "x" * 9 and text(4) == "xxxx" and asked == [4, 4, 9, 4]
    text.cache_clear()
    assert text(4) == "xxxx" and len(asked) == 5
