"""A webhook on this machine that keeps the events it gets, and answers as a test says; and runs that tell it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.reading_model import ReadingModel

from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.filling.progress import OutcomeTally
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.extraction.run.batched_run import Summary
from cinnabar.extraction.run.extract import begin_extraction
from cinnabar.extraction.run.notifications.run_notifications import notify_run
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.schemas import load_schema

#: What a receiver answers to the event of this number, from 0: a status and headers, or a status.
Answers = Callable[[int], tuple[int, dict[str, str]] | int]

SOURCE = load_schema(
    {"title": "note", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
)


class Hook:
    """A receiver at `url`; `got` holds the headers and bodies that it has accepted, `asked` counts all requests."""

    def __init__(self, answers: Answers = lambda _: 204, port: int = 0) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.asked, self._started = 0, False
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Keep an event if the answer is that it is taken."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = answers(hook.asked)
                hook.asked += 1
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                if status < 300:
                    hook.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/night"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that it took, in their order."""
        return [json.loads(body) for _, body in self.got]

    @property
    def kinds(self) -> list[str]:
        """The kinds of these events."""
        return [str(one["type"]).rpartition(".")[2] for one in self.events]

    def start(self) -> None:
        self._started = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening; the address answers no more."""
        if self._started:  # else it would wait for ever
            self._server.shutdown()
        self._server.server_close()


@contextmanager
def hook(answers: Answers = lambda _: 204, port: int = 0) -> Iterator[Hook]:
    """A receiver that listens."""
    one = Hook(answers, port)
    one.start()
    try:
        yield one
    finally:
        one.stop()


class Noted(OutcomeTally):
    """Keeps the notes of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def write(folder: Path, *names: str) -> Path:
    """A folder with documents that name these; a document without a name goes to quarantine."""
    folder.mkdir(exist_ok=True)
    for at, name in enumerate(names):
        (folder / f"{name or f'nameless {at}'}.txt").write_text(f"name={name}\n" if name else f"nothing {at}\n")
    return folder


def told_run(docs: Path, out: Path, *tell: str, **options: Any) -> tuple[Summary, list[str]]:
    """A run over a folder that tells these addresses; its summary and notes."""
    bound = options.pop("max_error_rate", None)
    chosen = RunOptions(workers=1, **options)
    plan = RunPlan(out=out, model="reading", tell=[*tell], max_error_rate=bound, options=chosen)
    assignment = Assignment(SOURCE, ModelSource("reading", ReadingModel), plan.options)
    progress = Noted()
    with notify_run(plan, progress) as told, begin_extraction(assignment, [docs], out, told) as run:
        summary = run.work_through()
    return summary, progress.notes
