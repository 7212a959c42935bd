"""A model behind a server as a filler, with exactly one result for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cinnabar.engine.few_shot import Examples, shown_with
from cinnabar.engine.models.remote.exchange import (
    NEWER,
    OLDER,
    OtherLimit,
    ServerAnswer,
    Transient,
    Unreached,
    client_of,
    exchange,
    scrub,
    wait_of,
)
from cinnabar.engine.models.remote.journal import Journal, ask_key
from cinnabar.engine.models.remote.ledger import Budget, Ledger, Pace
from cinnabar.engine.models.remote.prompting import (
    answer_room,
    body_of,
    bytes_of,
    few_shot_of,
    highest_cost,
    messages_of,
    passage_room,
    retry_messages,
    tokens_of,
)
from cinnabar.engine.models.remote.serving import MODELS, RemoteSettings, Served
from cinnabar.engine.models.remote.thresholds import FAILED_CONNECTIONS, OUTAGE_REQUESTS, REFUSED_REQUESTS
from cinnabar.engine.replies.provider_schema import Wire
from cinnabar.engine.replies.record import read_answer
from cinnabar.engine.request import Failed, Filled, Passage, Request, Result
from cinnabar.engine.settings import effort_of
from cinnabar.errors import EngineFailure, NoEngine, RunError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from tenacity import RetryCallState


class RemoteFiller:
    """Fills forms by asking a server.

    `key` is used for the requests and nothing else. `journal` keeps the paid answers. `examples` stand in the prompts.
    As many requests are under way at a time as the settings allow; their results do not depend on each other.
    """

    def __init__(
        self,
        served: Served,
        settings: RemoteSettings,
        effort: str,
        key: str,
        journal: Journal,
        examples: Examples | None = None,
    ) -> None:
        self._served, self._settings, self._effort = served, settings, effort_of(effort).name
        self._key, self._journal = key, journal
        self.examples, self._few_shot = examples, few_shot_of(examples, served)
        self._pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self.ledger = Ledger(served.prices)
        self._budget = Budget(self.ledger, settings.budget)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._silent = self._refusals = 0
        self._reached = False
        self._limit = OLDER

    def __repr__(self) -> str:
        return f"RemoteFiller({self._served.model!r})"

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model, its examples and its effort."""
        return f"{shown_with(self._served.fingerprint, self.examples)}-{self._effort}"

    @property
    def context_tokens(self) -> int:
        """The most tokens of a passage beside the task, the schema and the answer."""
        return passage_room(self._served.context, self._few_shot)

    def count_tokens(self, text: str) -> int:
        """Estimates the tokens of a text, rather too many."""
        return tokens_of(text)

    def windows(self, _: Passage) -> list[tuple[int, int]]:
        """Returns no windows: a passage is read as a whole."""
        return []

    def usage(self) -> Mapping[str, int | str | None]:
        """Returns this run's requests, tokens and cost."""
        return {"model": self._served.model} | self.ledger.usage() | {"stopped": self._budget.stopped}

    def close(self, settled: bool) -> None:
        """Ends the run and closes the journal."""
        self._journal.close(settled)

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        """Returns one result for each request, in their order.

        Raises RunError if the service cannot be reached, refuses the key or every request, or stops answering.
        """
        return asyncio.run(self._fill(requests)) if requests else []

    async def _fill(self, requests: Sequence[Request]) -> list[Result]:
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        self._budget.open()
        async with client_of(self._served, self._settings, self._key) as client:
            tasks = [asyncio.create_task(self._one(client, request)) for request in requests]
            try:
                return list(await asyncio.gather(*tasks))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, client: AsyncOpenAI, request: Request) -> Result:
        try:
            return await self._ask(client, request)
        except EngineFailure as failure:
            return Failed(request.id, failure.code, scrub(failure.detail, self._key))
        except RunError:
            raise
        except Exception as error:
            reason = scrub(f"{type(error).__name__}: {error}", self._key)
            return Failed(request.id, "engine_error", reason)

    async def _ask(self, client: AsyncOpenAI, request: Request) -> Result:
        """Asks for a form until an answer makes a record; each further ask lists the problems of the last answer."""
        wire = Wire(request.form, request.known, request.counted)
        problems: Sequence[str] = ()
        keys: list[str] = []
        first = messages_of(request, wire, self._few_shot)
        messages = first
        room = answer_room(request.form, self._served.context)
        for ask in range(self._settings.asks if wire.schema is not None else 1):
            text = ""
            if wire.schema is not None:
                self.ledger.asked_again += ask > 0
                body = body_of(self._served, self._effort, wire, messages, room)
                keys.append(ask_key(body, ask))
                answer = await self._answer(client, body, keys[-1])
                try:
                    text = self._whole(answer, room)
                except EngineFailure:
                    self._journal.forget(keys)
                    raise
            outcome = await asyncio.to_thread(read_answer, request, wire, text)
            if isinstance(outcome, Filled):
                return outcome
            problems = outcome
            messages = [*first, *retry_messages(text, problems)]
        self._journal.forget(keys)  # a retry of this document wants other answers
        detail = f"none of {self._settings.asks} answers met the schema: {'; '.join(problems[:5])}"
        raise EngineFailure("invalid_answer", detail)

    async def _answer(self, client: AsyncOpenAI, body: dict[str, Any], key: str) -> ServerAnswer:
        """Returns the answer to this body: from the journal, or a new one."""
        known = self._journal.find(key)
        if known is not None:
            self.ledger.from_journal += 1
            return known
        answer = await self._send_patiently(client, body, key)
        self._silent = 0
        return answer

    async def _send_patiently(self, client: AsyncOpenAI, body: dict[str, Any], key: str) -> ServerAnswer:
        # Extra: mercury.
        from tenacity import AsyncRetrying, retry_if_exception_type

        settings = self._settings
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(Transient),
            stop=self._given_up,
            wait=lambda state: wait_of(state, settings),
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    self.ledger.retries += attempt.retry_state.attempt_number > 1
                    return await self._sent(client, body, key)
        except Transient as failure:
            if self._is_nowhere(failure):
                reason = f"{self._served.where}: {scrub(failure.reason, self._key)}"
                raise NoEngine(f"{reason}; check the address in --base-url") from None
            self._count_unanswered(failure)
            raise EngineFailure("unavailable", f"{settings.attempts} attempts: {failure.reason}") from None
        raise AssertionError("an attempt returns or raises")

    def _count_unanswered(self, failure: Transient) -> None:
        """Counts a request that is not sent again. Raises RunError after OUTAGE of them in a row."""
        self._silent += 1
        if self._silent >= OUTAGE_REQUESTS:
            raise NoEngine(
                f"{self._served.model}: the service does not answer ({failure.reason}); what was"
                " committed stands, run the same command again later"
            ) from None

    def _given_up(self, state: RetryCallState) -> bool:
        """Returns whether a request has used up its attempts."""
        failure = state.outcome.exception() if state.outcome else None
        few = FAILED_CONNECTIONS if self._is_nowhere(failure) else self._settings.attempts
        return state.attempt_number >= min(few, self._settings.attempts)

    def _is_nowhere(self, failure: BaseException | None) -> bool:
        """Returns whether this run has never reached a server at this address."""
        return isinstance(failure, Unreached) and not self._reached

    async def _sent(self, client: AsyncOpenAI, body: dict[str, Any], key: str) -> ServerAnswer:
        """Sends the body once, within all limits, and enters the outcome in ledger and journal."""
        most = highest_cost(self._served, body)
        async with self._slots, self._budget.reserve(most):
            await self._pace.turn(bytes_of(body) // 3 + 1)
            try:
                answer = await exchange(client, self._served, self._settings, self._key, body, self._limit)
            except Transient as failure:
                self._reached |= not isinstance(failure, Unreached)
                self._limit = NEWER if isinstance(failure, OtherLimit) else self._limit
                if failure.sent:
                    self._doubt(key, most)
                if failure.wait is not None and failure.wait > self._settings.patience:
                    self._count_unanswered(failure)
                    reason = f"the service asks to wait {failure.wait:.0f} s: {failure.reason}"
                    raise EngineFailure("unavailable", reason) from None
                if failure.limited and failure.wait:
                    self._pace.pause(failure.wait)
                raise
            except EngineFailure as failure:  # the server does not charge a refused request
                self._reached = True
                self._check_refusal(failure)
                raise
            except RunError:
                raise
            except BaseException:
                self._doubt(key, most)
                raise
            self._reached = True
            cost = self.ledger.charge(answer.tokens, most)
            self._journal.keep_answer(key, answer, cost)
            return answer

    def _check_refusal(self, failure: EngineFailure) -> None:
        """Raises RunError if the server refused every request so far: no document would fare better."""
        self._refusals += failure.code == "request_refused"
        if self._refusals >= REFUSED_REQUESTS and not self.ledger.answers and not self.ledger.from_journal:
            reason = f"{self._served.where}: the server refused the first {REFUSED_REQUESTS} requests: {failure.detail}"
            raise NoEngine(f"{reason}; check that the model supports the response format json_schema") from None

    def _doubt(self, key: str, most: Decimal) -> None:
        self.ledger.doubt(most)
        self._journal.note_doubt(key, most)

    def _whole(self, answer: ServerAnswer, room: int) -> str:
        """Returns the text of a complete answer. Raises EngineFailure if it was refused or cut off."""
        if answer.refusal or answer.finish == "content_filter":
            raise EngineFailure("answer_refused", answer.refusal or "the service filtered its answer")
        if answer.finish == "length":
            # If the model's context is not known, --context sets it, and with it the answer's room.
            known = self._served.model in MODELS
            advice = "a smaller --context" if known else "a larger --context, half of the model's own context"
            raise EngineFailure("answer_cut", f"the answer was cut off after {room} tokens; try {advice}")
        return answer.text
