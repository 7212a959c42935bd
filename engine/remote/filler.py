"""A model behind a server as a filler, with exactly one result for each request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cinnabar.engine.asking.few_shot import Examples, FewShot, shown_with
from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.asking.server_prompt import messages_of, retry_messages
from cinnabar.engine.remote.estimates import answer_room, body_of, highest_cost, passage_room, tokens_of
from cinnabar.engine.remote.exchange import ServerAnswer, Transient, client_of, exchange, scrub
from cinnabar.engine.remote.ledger import Budget, Ledger
from cinnabar.engine.remote.serving import RemoteSettings, Served
from cinnabar.engine.replies.record import read_answer
from cinnabar.engine.request import Failed, Filled, Filler, Passage, Request, Result
from cinnabar.engine.settings import effort_of
from cinnabar.errors import EngineFailure, NoEngine, RunError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from tenacity import RetryCallState

#: The run ends after so many unanswered requests in a row, each with all its attempts used.
OUTAGE_REQUESTS = 20
#: The run ends after so many failed connections to an address that never answered: some seconds with the waits.
FAILED_CONNECTIONS = 3
#: The run ends after so many refused requests if nothing was answered before: the fault is not in the documents.
REFUSED_REQUESTS = 5
#: The two names of the limit of an answer's tokens; some servers know only one of them.
OLDER, NEWER = "max_tokens", "max_completion_tokens"


class RemoteFiller(Filler):
    """Fills forms by asking a server.

    `key` is used for the requests and nothing else. `examples` stand in the prompts. As many requests are under way at
    a time as the settings allow; their results do not depend on each other.
    """

    def __init__(
        self,
        served: Served,
        settings: RemoteSettings,
        effort: str,
        key: str,
        examples: Examples | None = None,
    ) -> None:
        self._served, self._settings, self._effort = served, settings, effort_of(effort).name
        self._key = key
        self.examples, self._few_shot = examples, FewShot(examples, served.context, tokens_of)
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
        examples = None if self.examples is None else self.examples.fingerprint
        return f"{shown_with(self._served.fingerprint, examples)}-{self._effort}"

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
        messages = first = messages_of(request, wire, self._few_shot)
        room = answer_room(request.form, self._served.context)
        for ask in range(self._settings.asks if wire.schema is not None else 1):
            text = ""
            if wire.schema is not None:
                self.ledger.asked_again += ask > 0
                body = body_of(self._served, self._effort, wire, messages, room)
                text = self._whole(await self._send_patiently(client, body), room)
            outcome = await asyncio.to_thread(read_answer, request, wire, text)
            if isinstance(outcome, Filled):
                return outcome
            problems = outcome
            messages = [*first, *retry_messages(text, problems)]
        detail = f"none of {self._settings.asks} answers met the schema: {'; '.join(problems[:5])}"
        raise EngineFailure("invalid_answer", detail)

    async def _send_patiently(self, client: AsyncOpenAI, body: dict[str, Any]) -> ServerAnswer:
        """Returns the answer to this body, which is sent again after passing failures."""
        # Extra: mercury.
        from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential

        settings = self._settings
        usual = wait_random_exponential(settings.first_wait, settings.longest_wait)

        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked = failure.wait if isinstance(failure, Transient) else None
            return usual(state) if asked is None else asked + random.uniform(0, settings.first_wait)

        sending = AsyncRetrying(retry=retry_if_exception_type(Transient), stop=self._given_up, wait=wait, reraise=True)
        try:
            async for attempt in sending:
                with attempt:
                    self.ledger.retries += attempt.retry_state.attempt_number > 1
                    answer = await self._sent(client, body)
        except Transient as failure:
            if not self._reached:
                reason = f"{self._served.where}: {scrub(failure.reason, self._key)}"
                raise NoEngine(f"{reason}; check its address in cinnabar.toml or the environment") from None
            self._count_unanswered(failure)
            raise EngineFailure("unavailable", f"{settings.attempts} attempts: {failure.reason}") from None
        self._silent = 0
        return answer

    def _count_unanswered(self, failure: Transient) -> None:
        """Counts a request that is not sent again. Raises RunError after OUTAGE of them in a row."""
        self._silent += 1
        if self._silent >= OUTAGE_REQUESTS:
            raise NoEngine(
                f"{self._served.model}: the service does not answer ({failure.reason}); what was"
                " committed stands, run the same command again later"
            ) from None

    def _given_up(self, state: RetryCallState) -> bool:
        """Returns whether a request has used up its attempts, or is asked to wait for longer than anyone would."""
        failure = state.outcome.exception() if state.outcome else None
        if isinstance(failure, Transient) and (failure.wait or 0) > self._settings.patience:
            return True
        few = self._settings.attempts if self._reached else FAILED_CONNECTIONS
        return state.attempt_number >= min(few, self._settings.attempts)

    async def _sent(self, client: AsyncOpenAI, body: dict[str, Any]) -> ServerAnswer:
        """Sends the body once, within all limits, and enters the outcome in the ledger."""
        most = highest_cost(self._served, body)
        async with self._slots, self._budget.reserve(most):
            try:
                answer = await self._exchange(client, body)
            except Transient as failure:
                self._reached |= failure.reached
                if failure.sent:
                    self.ledger.doubt(most)
                raise
            except EngineFailure as failure:  # the server does not charge a refused request
                self._reached = True
                self._check_refusal(failure)
                raise
            except RunError:
                raise
            except BaseException:
                self.ledger.doubt(most)
                raise
            self._reached = True
            self.ledger.charge(answer.tokens, most)
            return answer

    async def _exchange(self, client: AsyncOpenAI, body: dict[str, Any]) -> ServerAnswer:
        """Sends the body by the name of the limit of an answer's tokens that the server knows."""
        limit = self._limit
        named = {limit if name == OLDER else name: value for name, value in body.items()}
        try:
            return await exchange(client, self._served, self._settings, self._key, named)
        except EngineFailure as failure:
            if limit == NEWER or NEWER not in failure.detail:
                raise
        self._limit = NEWER
        return await self._exchange(client, body)

    def _check_refusal(self, failure: EngineFailure) -> None:
        """Raises RunError if the server refused every request so far: no document would fare better."""
        self._refusals += failure.code == "request_refused"
        if self._refusals >= REFUSED_REQUESTS and not self.ledger.answers:
            reason = f"{self._served.where}: the server refused the first {REFUSED_REQUESTS} requests: {failure.detail}"
            raise NoEngine(f"{reason}; check that the model supports the response format json_schema") from None

    def _whole(self, answer: ServerAnswer, room: int) -> str:
        """Returns the text of a complete answer. Raises EngineFailure if it was refused or cut off."""
        if answer.refusal or answer.finish == "content_filter":
            raise EngineFailure("answer_refused", answer.refusal or "the service filtered its answer")
        if answer.finish == "length":
            raise EngineFailure("answer_cut", f"the answer was cut off after {room} tokens; try a smaller context")
        return answer.text
