"""The command `cinnabar`: its subcommands, and the exit status of each failure, as `cinnabar --help` tells it."""

from __future__ import annotations

import atexit
import codecs
import gc
import io
import json
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from cinnabar.apps.cli.lazy_commands import LazyGroup
from cinnabar.errors import CinnabarError, IncompleteFolder, ModelError, UsageError
from cinnabar.extraction.plan.left_options import instead_of_command, instead_of_option
from cinnabar.wording import harmless

#: Typer returns this status, without a message, if a command was interrupted.
_INTERRUPTED = 130
_ESCAPED = "escaped"
#: New objects after which the garbage collector looks for circles.
_YOUNG_OBJECTS = 50_000

app = typer.Typer(
    name="cinnabar",
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        from importlib.metadata import version  # Cold start: it parses messages of e-mail, 15 ms.

        typer.echo(f"cinnabar {version('cinnabar-extract')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Folders of PDFs and e-mails into tables, with the evidence behind every value.

    \b
    Exit status:
      0  finished
      1  failed or interrupted: run it again; or a check found a fault
      2  wrong use, told before any work
      3  finished, with more in quarantine than --max-error-rate allows

    \b
    Environment:
      CINNABAR_CACHE      where shared weights are kept; empty: nowhere
      CINNABAR_DEBUG=1    show where a failure happened
      CINNABAR_MODELS     where fetched models lie
      CINNABAR_PRECISION  int8, float32 or bfloat16
      NO_COLOR            no colours
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit status. A failure prints one line to standard error."""
    try:
        # An empty path would mean the current folder.
        if any(re.fullmatch(r"(--[a-z-]+=)?", argument) for argument in arguments):
            raise UsageError("expected arguments with text, got an empty one; is a shell variable unset?")
        with warnings.catch_warnings():
            warnings.simplefilter("default", IncompleteFolder)
            warnings.showwarning = _show_warning
            status = app(args=list(arguments), prog_name="cinnabar", standalone_mode=False)
        if status == _INTERRUPTED:
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = "cinnabar" if context is None else context.command_path
        if (instead := _instead(error, arguments)) is not None:
            return _fail(2, instead)
        return _fail(2, f"{error.format_message()} (`{command} --help` tells more)")
    except (UsageError, ModelError) as error:
        return _fail(2, str(error))
    except CinnabarError as error:
        return _fail(1, str(error))
    except (KeyboardInterrupt, typer.Abort):
        return _fail(1, "interrupted; committed batches are kept; run the same command again")
    except Exception as error:
        if (broken := _broken_file(arguments)) is not None:
            return _fail(1, broken)
        advice = "run the same command again, with CINNABAR_DEBUG=1 to see where"
        return _fail(1, f"failed: {type(error).__name__}: {error}; {advice}")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(harmless(f"cinnabar: {message}"), file=sys.stderr)


def _instead(error: TyperException, arguments: Sequence[str]) -> str | None:
    """Returns what to do in place of an option or a command that is gone; None if the error is another."""
    message = error.format_message()
    if message.startswith("No such option"):
        return instead_of_option(getattr(error, "option_name", ""))
    if not message.startswith("No such command"):
        return None
    words = [*takewhile(lambda word: not word.startswith("-"), arguments)]
    return instead_of_command(" ".join(words[:1])) or instead_of_command(" ".join(words[:2]))


def _broken_file(arguments: Sequence[str]) -> str | None:
    """Returns the file with contents of others that a command met in its folder of results, None if there is none."""
    from cinnabar.extraction.store.broken_files import broken_file  # Cold start: PyArrow and NumPy take .2 s.

    joined = (argument.partition("=")[2] for argument in arguments if argument.startswith("--out="))
    following = (after for argument, after in pairwise(arguments) if argument == "--out")
    for out in (*joined, *following):
        with suppress(Exception):
            return broken_file(Path(out))
    return None


def _fail(status: int, message: str) -> int:
    if os.environ.get("CINNABAR_DEBUG"):
        traceback.print_exc()
    line = harmless(" ".join(message.split()))
    print(f"cinnabar: {line}".encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
    return status


def main() -> None:
    """Runs the command with the arguments of the process; the entry point.

    SIGTERM ends it like SIGINT: the run says what it has committed.
    """
    _open_streams()
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Most objects of a start are modules, which stay: with Python's threshold of 700 the collector looks at them again
    # and again, for 0.4 of 3.4 s over one document.
    gc.set_threshold(_YOUNG_OBJECTS)
    _leave(run(sys.argv[1:]))


def _open_streams() -> None:
    """Has standard output and error escape what they cannot show, as JSON does; a closed stream is an empty one."""
    codecs.register_error(_ESCAPED, _escape_character)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The process has it until its end.
            setattr(sys, name, Path(os.devnull).open("r+", encoding="utf-8"))  # noqa: SIM115
        if name != "stdin" and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPED)


def _escape_character(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = json.dumps(error.object[error.start : error.end])
    return text[1:-1], error.end


def _leave(status: int) -> None:
    """Ends the process with this status, without freeing its objects one by one, which takes 0.4 s after torch.

    If threads are at work, or the output cannot be written, Python ends the process as usual.
    """
    alone = all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())
    if alone:
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
