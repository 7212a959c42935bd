"""The remote filler: whatever a server does, each request has one result, its cost is known, and the key is secret."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import tracemalloc
from decimal import Decimal
from email.utils import formatdate
from typing import Any

import pytest
from tests.support import mercury_server as mercury
from tests.support.cases import each
from tests.support.effort import some
from tests.support.remote_forms import NOTE, form_of, request

from cinnabar.apps.cli.extract import spent
from cinnabar.engine.remote.exchange import retry_after, scrub
from cinnabar.engine.remote.filler import OUTAGE_REQUESTS, RemoteFiller
from cinnabar.engine.remote.ledger import Budget, Ledger, Prices, Tokens
from cinnabar.engine.remote.listing import described
from cinnabar.engine.remote.serving import RemoteSettings, Served, find_served
from cinnabar.engine.request import Failed, Filled, Request, Result
from cinnabar.errors import EngineFailure, RunError, UsageError

FORM = form_of(NOTE)


def filler(server: mercury.Server, key: str = mercury.KEY, **changed: Any) -> RemoteFiller:
    said = {"base_url": server.url, "timeout": 5.0, "first_wait": 0.01, "longest_wait": 0.05} | changed
    settings = RemoteSettings(**said)
    return RemoteFiller(find_served("mercury-2", settings), settings, "low", key)


def requests(count: int) -> list[Request]:
    return [request(FORM, f"name=Person {n}\nday=2024-05-0{n % 9 + 1}\n- what=w{n}; price={n}\n") for n in range(count)]


def names(results: list[Result]) -> list[str]:
    return [json.loads(one.record)["name"] if isinstance(one, Filled) else one.code for one in results]


def first(fault: str, count: int = 1) -> Any:
    """This fault for the first requests, and none for the later ones."""
    return lambda number, _body: fault if number < count else ""


def test_answers_out_of_order_reach_their_requests() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "late")) as server:
        results = filler(server).fill(requests(20))
    assert names(results) == [f"Person {n}" for n in range(20)]
    assert server.most_under_way > 4 and server.breaches == []


@each("fault", [f for f in mercury.FAULTS if f not in ("late", "slow bytes", "no answer")])
def test_a_fault_is_overcome_and_the_ledgers_agree(fault: str) -> None:
    with mercury.running(mercury.Server(fault=first(fault))) as server:
        asked = filler(server)
        assert names(asked.fill(requests(1))) == ["Person 0"]
    usage = asked.usage()
    assert asked.ledger.cost == server.cost and usage["requests"] == len(server.charged)
    assert usage["unanswered"] == server.doubtful
    again = fault in ("no json", "wrong schema", "wrong value")
    assert (usage["asked_again"], usage["retries"]) == ((1, 0) if again else (0, 1))


@pytest.mark.parametrize("fault", some(("slow bytes",), ["slow bytes", "no answer"]))
def test_an_answer_that_takes_too_long_is_given_up(fault: str) -> None:
    with mercury.running(mercury.Server(fault=first(fault))) as server:
        asked = filler(server, timeout=2.0)
        assert names(asked.fill(requests(1))) == ["Person 0"]
    assert 1.9 < server.times[1] - server.times[0] < 20  # the slow bytes alone would take over a minute
    assert asked.ledger.unanswered == 1 and asked.ledger.unanswered_cost > 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["endless", *mercury.BOMBS])
def test_an_answer_that_is_larger_than_any_is_given_up_within_a_bound_of_memory(fault: str) -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: fault)) as server:
        mercury.bomb(2)
        tracemalloc.start()
        (result,) = filler(server, attempts=2, timeout=30.0).fill(requests(1))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert isinstance(result, Failed) and result.code == "unavailable"
    expected = "an answer packed as br" if fault == "odd" else "more than 4 MB"
    assert expected in result.detail or fault in ("error bomb", "bomb in a bomb"), result.detail
    assert peak < 48 << 20 and len(server.bodies) == 2


def test_an_answer_may_be_packed() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "in gzip")) as server:
        assert names(filler(server).fill(requests(1))) == ["Person 0"]


def test_a_text_that_is_longer_than_its_document_is_not_written() -> None:
    def long(_body: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        return {**found, "name": "Person 0 " * 20_000}

    with mercury.running(mercury.Server(answer=long)) as server:
        (result,) = filler(server, asks=1).fill(requests(1))
    assert isinstance(result, Failed) and result.code == "invalid_answer"
    assert "/name: expected a text that the document states, got 180,000 characters" in result.detail


def test_a_storm_that_does_not_end_leaves_documents_unavailable_and_an_outage_ends_the_run() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "429 bare")) as server:
        asked = filler(server, attempts=3)
        results = asked.fill(requests(2))
        assert [(one.code, "HTTP 429" in one.detail) for one in results if isinstance(one, Failed)] == [
            ("unavailable", True)
        ] * 2
        assert len(server.bodies) == 6 and asked.usage()["cost"] == "0"
        with pytest.raises(RunError, match="does not answer"):
            asked.fill(requests(OUTAGE_REQUESTS))


def test_an_address_without_a_server_ends_the_run_within_seconds() -> None:
    with mercury.running(mercury.Server()) as server:
        nowhere = filler(server, base_url="http://127.0.0.1:1/v1", longest_wait=60.0)
    begin = time.monotonic()
    with pytest.raises(RunError, match=r"mercury-2 at http://127\.0\.0\.1:1/v1: .*check its address"):
        nowhere.fill(requests(20))
    assert time.monotonic() - begin < 45


def test_a_server_that_answered_once_is_retried_with_full_patience() -> None:
    with mercury.running(mercury.Server()) as server:
        asked = filler(server, attempts=5)
        assert names(asked.fill(requests(1))) == ["Person 0"]
    assert names(asked.fill(requests(2)[1:])) == ["unavailable"]
    assert asked.ledger.retries == 4


def test_refusals_from_the_first_request_on_end_the_run_with_the_servers_message() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "400 no such json_schema")) as server:
        with pytest.raises(RunError, match=r"first 5 requests.*no such json_schema") as error:
            filler(server).fill(requests(20))
        assert "CANARY" not in str(error.value)
        assert names(filler(server).fill(requests(4))) == ["request_refused"] * 4


def test_refusals_after_an_answer_are_faults_of_their_documents() -> None:
    refused = mercury.Server(fault=lambda number, _body: "400 no" if number else "")
    with mercury.running(refused) as server:
        results = filler(server, concurrency=1).fill(requests(8))
    assert sorted(names(results)) == ["Person 0"] + ["request_refused"] * 7


def test_answers_without_usage_have_an_unknown_cost() -> None:
    server = mercury.Server()
    real = server._completion
    server._completion = lambda body, fault: real(body, fault) | {"usage": None}  # type: ignore
    with mercury.running(server):
        asked = filler(server, budget=Decimal(1))
        assert names(asked.fill(requests(3))) == [f"Person {n}" for n in range(3)]
    usage = asked.usage()
    assert (usage["requests"], usage["unmetered"], usage["unanswered"]) == (3, 3, 0)
    assert usage["cost"] is None and asked.ledger.spent > 0
    rows = {name: (value, said) for name, value, said in spent(usage)}
    assert rows["cost"][0] == "not known" and "unanswered" not in rows
    assert rows["unmetered"][0] == 3 and "reported usage" in rows["unmetered"][1] and "$" in rows["unmetered"][1]


def test_no_redirect_is_followed() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "redirect")) as server:
        with pytest.raises(RunError, match="not found"):
            filler(server).fill(requests(1))
        assert len(server.bodies) == 1


def test_a_server_that_demands_hours_of_waiting_ends_the_run() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "429 seconds")) as server:
        with pytest.raises(RunError, match="does not answer"):
            filler(server, patience=0.5, concurrency=4).fill(requests(100))
        assert OUTAGE_REQUESTS <= len(server.bodies) < 2 * OUTAGE_REQUESTS


def test_a_server_that_knows_only_max_completion_tokens_gets_that_name() -> None:
    def fault(_number: int, body: dict[str, Any]) -> str:
        return "400 Use 'max_completion_tokens' instead" if "max_tokens" in body else ""

    with mercury.running(mercury.Server(fault=fault)) as server:
        asked = filler(server, concurrency=2)
        assert names(asked.fill(requests(8))) == [f"Person {n}" for n in range(8)]
        assert names(asked.fill(requests(9)[8:])) == ["Person 8"]
    assert len(server.bodies) <= 11 and server.bodies[-1]["max_completion_tokens"] > 0
    with mercury.running(mercury.Server(fault=lambda _n, _b: "400 max_completion_tokens")) as server:
        assert names(filler(server).fill(requests(1))) == ["request_refused"] and len(server.bodies) == 2


def test_half_a_character_in_an_answer_is_a_fault_that_is_named() -> None:
    def answer(body: dict[str, Any], found: dict[str, Any]) -> str:
        broken = len(body["messages"]) == 2
        return json.dumps(found | {"name": "Ada\ud800"} if broken else found, ensure_ascii=False)

    with mercury.running(mercury.Server(answer=answer)) as server:
        assert names(filler(server).fill(requests(1))) == ["Person 0"]
    assert "surrogate" in server.bodies[1]["messages"][-1]["content"]
    with mercury.running(mercury.Server(fault=lambda _n, _b: "400 \ud800")) as server:
        (result,) = filler(server).fill(requests(1))
    assert isinstance(result, Failed) and result.detail.encode()


def test_an_answer_in_chunks_is_joined() -> None:
    with mercury.running(mercury.Server(fault=lambda _n, _b: "in parts")) as server:
        assert names(filler(server).fill(requests(1))) == ["Person 0"] and len(server.bodies) == 1


def test_a_wrong_answer_is_asked_again_with_its_faults_and_then_given_up() -> None:
    with mercury.running(mercury.Server(answer=lambda _b, found: found | {"day": "soon"})) as server:
        asked = filler(server)
        (result,) = asked.fill(requests(1))
    assert isinstance(result, Failed) and result.code == "invalid_answer" and "/day" in result.detail
    assert len(server.bodies) == 3 and asked.ledger.asked_again == 2
    assert "/day: expected a date" in server.bodies[1]["messages"][-1]["content"]
    assert asked.ledger.cost == server.cost


def test_cut_off_and_refused_answers_have_their_own_reasons_and_advice() -> None:
    server = mercury.Server()
    real = server._completion

    def ended(body: Any, fault: str, why: str) -> Any:
        found = real(body, fault)
        found["choices"][0]["finish_reason"] = why
        return found

    with mercury.running(server):
        for why, code, told in (
            ("length", "answer_cut", "a smaller context"),
            ("content_filter", "answer_refused", "filtered"),
        ):
            server._completion = lambda body, fault, why=why: ended(body, fault, why)  # type: ignore
            (result,) = filler(server).fill(requests(1))
            assert isinstance(result, Failed) and result.code == code and told in result.detail


def test_a_budget_is_never_exceeded_and_stops_the_remaining_requests() -> None:
    with mercury.running(mercury.Server()) as server:
        asked = filler(server, budget=Decimal("0.03"), concurrency=4)
        results = asked.fill(requests(200))
        stopped = [one for one in results if isinstance(one, Failed)]
        assert {one.code for one in stopped} == {"budget"} and 0 < len(stopped) < 200
        assert server.cost == asked.ledger.cost <= Decimal("0.03")
        before = len(server.bodies)
        assert {one.code for one in asked.fill(requests(203)[200:]) if isinstance(one, Failed)} == {"budget"}
        assert len(server.bodies) == before
        nothing = filler(server, budget=Decimal(0))
        assert names(nothing.fill(requests(2))) == ["budget"] * 2


def test_requests_in_flight_count_towards_the_budget() -> None:
    async def spend() -> list[str]:
        ledger = Ledger(None)
        budget = Budget(ledger, Decimal(1))
        said: list[str] = []

        async def one(name: str, cost: str) -> None:
            async with budget.reserve(Decimal("0.6")):
                said.append(f"{name} begins")
                await asyncio.sleep(0.01)
                ledger.cost += Decimal(cost)
                said.append(f"{name} ends")

        await asyncio.gather(one("a", "0.3"), one("b", "0.2"))
        with pytest.raises(EngineFailure, match=r"may cost \$0.6, and \$0.5 of the budget of \$1 is spent"):
            await one("c", "0")
        return said

    assert asyncio.run(spend()) == ["a begins", "a ends", "b begins", "b ends"]


def test_no_more_requests_are_under_way_than_the_settings_allow() -> None:
    with mercury.running(mercury.Server(pause=0.01)) as server:
        filler(server, concurrency=3).fill(requests(15))
    assert server.most_under_way <= 3


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("", None), ("soon", None), ("-1", None), ("nan", None), (None, None)],
)
def test_retry_after_in_seconds(value: str | None, seconds: float | None) -> None:
    assert retry_after({"retry-after": value} if value is not None else {}) == seconds


def test_retry_after_as_a_date_counts_from_now() -> None:
    assert retry_after({"retry-after": formatdate(1_000_010, usegmt=True)}, now=1_000_000) == 10
    assert retry_after({"retry-after": formatdate(999_000, usegmt=True)}, now=1_000_000) == 0


def test_a_placeholder_key_does_not_garble_messages() -> None:
    assert scrub("HTTP 500: expected x, got Bearer x", "x") == "HTTP 500: expected ***, got Bearer ***"
    assert scrub("keyCANARY-7f3a91key", "CANARY-7f3a91") == "key***key"


def test_costs_are_exact() -> None:
    prices = Prices.parse("0.25,0.025,0.75")
    assert prices.cost(Tokens(1_000_000, 0, 0)) == Decimal("0.25")
    assert prices.cost(Tokens(3, 1, 7)) == Decimal("0.000005775")
    with pytest.raises(UsageError, match="six decimals"):
        Prices.parse("0.0000001,0,0")
    with pytest.raises(UsageError, match="INPUT,CACHED,OUTPUT"):
        Prices.parse("1,2")


def test_the_key_is_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="openai")
    seen: list[str] = []
    with mercury.running(mercury.Server(fault=mercury.drawn(0.5, 3, ("500", "429 bare", "cut within")))) as server:
        asked = filler(server, attempts=3)
        seen += [repr(asked), str(asked.usage()), str(asked.fill(requests(6)))]
        refused = filler(server, key=mercury.KEY + "x")
        with pytest.raises(RunError) as error:
            refused.fill(requests(1))
        seen += [str(error.value), repr(error.value.__cause__), caplog.text, *capfd.readouterr()]
    assert "INCEPTION_API_KEY" in str(error.value)
    assert not any("CANARY" in text for text in seen)


def test_requests_reveal_nothing_about_this_machine() -> None:
    with mercury.running(mercury.Server()) as server:
        filler(server).fill(requests(1))
    (headers,) = server.headers
    assert not any(name.startswith(("x-stainless", "openai-")) for name in headers)
    assert headers["user-agent"] == "cinnabar"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://x/v1", "https://host/v1"),
        ("https://x/v1\n", "without blanks"),
        ("http://a b", "without blanks"),
        ("x", "https://host/v1"),
        ("https://u:secret@x/v1", "no user"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_showing_it(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        find_served("mercury-2", RemoteSettings(base_url=url))
    assert "secret" not in str(error.value)


def test_the_model_of_another_server_has_its_own_key_prices_and_fingerprint() -> None:
    other = find_served("openai:gemma", RemoteSettings(base_url="http://localhost:9/v1"))
    assert (other.key_name, other.effort, other.prices) == ("OPENAI_API_KEY", False, None)
    mercury_2 = find_served("mercury-2", RemoteSettings())
    moved = find_served("mercury-2", RemoteSettings(base_url="https://other.example/v1"))
    assert mercury_2.fingerprint == moved.fingerprint != other.fingerprint
    assert isinstance(mercury_2, Served)


def told(server: mercury.Server, name: str, **row: Any) -> Served:
    settings = RemoteSettings(**{"base_url": server.url, **row})
    return described(name, find_served(name, settings), settings, mercury.KEY)


def test_a_model_without_a_row_has_the_window_and_the_prices_of_its_servers_list() -> None:
    prices = {"prompt": "0.0000001", "input_cache_read": "0.00000001", "completion": "0.00000035"}
    listed = [{"id": "mercury-9", "context_length": 256_000, "pricing": prices}, {"id": "m", "max_model_len": 8192}]
    with mercury.running(mercury.Server(listed=listed)) as server:
        newer, other = told(server, "mercury-9", budget=Decimal(5)), told(server, "openai:m")
    assert (newer.context, newer.prices, newer.effort) == (256_000, Prices.parse("0.1,0.01,0.35"), True)
    assert (other.context, other.prices) == (8192, None)


def test_what_neither_a_row_nor_the_server_tells_is_asked_for_by_the_name_of_its_row() -> None:
    with mercury.running(mercury.Server(listed=[{"id": "m", "pricing": {"prompt": "-1"}}, {"id": "n"}])) as server:
        row = r'set window and prices in \[models."openai:.*"\] of cinnabar.toml'
        for name, more, said in (
            ("openai:m", {}, "does not tell its window"),
            ("openai:m", {"window": 9, "budget": Decimal(5)}, "does not tell its prices"),
            ("openai:x", {}, "the server has m, n; name one of them"),
            ("openai:m", {"base_url": "http://127.0.0.1:9/v1"}, "no list of models"),
        ):
            with pytest.raises(UsageError, match=f"{said}.*{row}"):
                told(server, name, **more)
        assert told(server, "openai:m", window=9).context == 9
