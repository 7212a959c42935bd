"""Waiting events reach their receivers, in order, whatever these answer meanwhile."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.message_receivers import receiving
from tests.support.notification_receivers import Hook, hook

from cinnabar.errors import UsageError
from cinnabar.extraction.run.notifications import delivery
from cinnabar.extraction.run.notifications.delivery import (
    NOTIFICATIONS_FOLDER,
    check_addresses,
    deliver_notifications,
    message_of,
    public_address,
    signature,
    waiting_notifications,
    write_notifications,
)
from cinnabar.extraction.run.notifications.run_events import Event
from cinnabar.extraction.store.files import FolderLock

RUN = "20260301T120000000Z-1a2b3c4d"
DATA = {"title": "Cinnabar: finished: note", "text": "2 documents: 2 written.", "counts": {}}


def event(kind: str = "finished", run: str = RUN) -> Event:
    kinds = {"id": f"{run}-{kind}", "type": f"dev.cinnabar.run.{kind}", "subject": run}
    return {"specversion": "1.0", "source": "//here/tables", "data": DATA} | kinds


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(delivery, "_PAUSES", (0.005, 0.02))
    for name in ("CINNABAR_WEBHOOK_SECRET", "CINNABAR_SMTP", "CINNABAR_SMTP_PASSWORD", "CINNABAR_SMTP_FROM"):
        monkeypatch.delenv(name, raising=False)
    return


def test_an_event_is_a_cloud_event_signed_by_each_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [b"k" * 24, b"l" * 32]
    monkeypatch.setenv("CINNABAR_WEBHOOK_SECRET", " ".join(f"whsec_{base64.b64encode(k).decode()}" for k in keys))
    with hook() as there:
        write_notifications(tmp_path, [event()], [there.url])
        assert deliver_notifications(tmp_path, None, 5) == []
    ((headers, body),) = there.got
    content = json.loads(body)
    assert headers["content-type"] == "application/cloudevents+json"
    assert content["specversion"] == "1.0" and content["id"] == headers["webhook-id"] == f"{RUN}-finished"
    assert (content["type"], content["subject"], content["data"]) == ("dev.cinnabar.run.finished", RUN, DATA)
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 60
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digests = [base64.b64encode(hmac.new(k, signed, hashlib.sha256).digest()).decode() for k in keys]
    assert headers["webhook-signature"] == " ".join(f"v1,{one}" for one in digests)
    assert waiting_notifications(tmp_path) == []


def test_the_signature_is_that_of_the_standards_own_example() -> None:
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    made = signature([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("status", [408, 429, 503])
def test_a_busy_receiver_is_asked_again(tmp_path: Path, status: int) -> None:
    with hook(lambda number: status if number < 3 else 200) as there:
        write_notifications(tmp_path, [event("finished"), event("drift")], [there.url])
        notes = deliver_notifications(tmp_path, None, 5)
    assert (there.kinds, there.asked, notes) == (["finished", "drift"], 5, [])


def test_retry_after_is_kept(tmp_path: Path) -> None:
    with hook(lambda number: (429, {"Retry-After": "1"}) if number == 0 else 200) as there:
        write_notifications(tmp_path, [event()], [there.url])
        begun = time.monotonic()
        assert "answered 429" in deliver_notifications(tmp_path, None, 0.5)[0] and time.monotonic() - begun < 0.4
        assert there.asked == 1
    with hook(lambda number: (503, {"Retry-After": "1"}) if number == 0 else 200, there.port) as there:
        assert deliver_notifications(tmp_path, None, 5) == [] and time.monotonic() - begun >= 1.0


@pytest.mark.parametrize("status", [301, 401])
def test_a_refused_event_waits_for_the_next_run_and_later_ones_go_on(tmp_path: Path, status: int) -> None:
    elsewhere = {"Location": "http://127.0.0.1:1/"}
    with hook(lambda number: (status, elsewhere) if number == 0 else 200) as there:
        write_notifications(tmp_path, [event("finished"), event("drift")], [there.url])
        (note,) = deliver_notifications(tmp_path, None, 5)
        assert there.kinds == ["drift"] and f"answered {status}" in note and there.asked == 2
        assert [one.event["id"] for one in waiting_notifications(tmp_path)] == [f"{RUN}-finished"]
        assert deliver_notifications(tmp_path, None, 5) == [] and there.kinds == ["drift", "finished"]


def test_a_receiver_that_is_down_keeps_nobody_waiting_and_gets_all_in_order_when_it_is_up(tmp_path: Path) -> None:
    down = Hook()
    down.stop()
    with hook() as there:
        write_notifications(tmp_path, [event("finished"), event("drift")], [down.url, there.url])
        begun = time.monotonic()
        (note,) = deliver_notifications(tmp_path, None, 0.5)
        assert time.monotonic() - begun < 2 and there.kinds == ["finished", "drift"]
        assert note.startswith("http://127.0.0.1/…: events wait (no answer")
    with hook(port=down.port) as up:
        assert deliver_notifications(tmp_path, None, 5) == [] and up.kinds == ["finished", "drift"]


def test_a_receiver_that_never_answers_holds_a_run_for_a_bounded_time(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        write_notifications(tmp_path, [event()], [f"http://127.0.0.1:{silent.getsockname()[1]}/"])
        begun = time.monotonic()
        assert "no answer" in deliver_notifications(tmp_path, None, 0.5)[0]
        assert time.monotonic() - begun < 2
    assert len(waiting_notifications(tmp_path)) == 1


def test_of_two_processes_one_delivers(tmp_path: Path) -> None:
    with hook() as there:
        write_notifications(tmp_path, [event()], [there.url])
        other = FolderLock(tmp_path / NOTIFICATIONS_FOLDER)
        assert deliver_notifications(tmp_path, None, 1) == [] and there.asked == 0
        other.release()
        assert deliver_notifications(tmp_path, None, 1) == [] and there.asked == 1


@settings(max_examples=6, deadline=None)
@given(answers=st.lists(st.sampled_from([200, 500, 503, 429, 408]), max_size=20))
def test_every_event_arrives_once_and_in_order_whatever_a_receiver_answers(
    answers: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    runs = [f"20260301T12000000{number}Z-1a2b3c4d" for number in range(5)]
    with hook(lambda number: answers[number] if number < len(answers) else 200) as there:
        write_notifications(out, [event(run=run) for run in runs], [there.url])
        assert deliver_notifications(out, None, 30) == []
    assert [one["subject"] for one in there.events] == runs


def test_an_event_that_waits_already_waits_once(tmp_path: Path) -> None:
    for _ in range(2):
        write_notifications(tmp_path, [event()], ["https://hooks.example.org/a", "https://hooks.example.org/a#failed"])
    assert [one.address for one in waiting_notifications(tmp_path)] == ["https://hooks.example.org/a"]


def test_a_mail_tells_the_event_and_has_an_id_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as (_, mail, _, mails):
        monkeypatch.setenv("CINNABAR_SMTP", f"smtp://127.0.0.1:{mail.partition('?')[0].rpartition(':')[2]}")
        write_notifications(tmp_path, [event()], ["mailto:anna@example.org"])
        assert deliver_notifications(tmp_path, None, 5) == []
    assert mails[0].startswith("anna@example.org\nCinnabar: finished: note\n2 documents: 2 written.")
    message = message_of("anna@example.org", event())
    assert message["Message-ID"] == f"<{RUN}-finished@cinnabar.invalid>"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("hooks.example.org", "--notify: expected https://HOST/PATH, mailto:NAME@HOST or env:NAME"),
        ("https://[hidden/", "--notify: expected https://HOST/PATH"),
        ("https://hooks.example.org:99999/hidden", "--notify: expected https://HOST/PATH"),
        ("https://me:hidden@hooks.example.org/", "without a password"),
        ("https://hooks.example.org/#failed,lost", "--notify: expected kinds of events (finished, failed,"),
        ("mailto:anna@example.org", "CINNABAR_SMTP: expected the server of mails"),
        ("env:NO_SUCH_HOOK", "NO_SUCH_HOOK, which is not set"),
        ("env:SECRET_HOOK", "--notify: expected https://HOST/PATH"),
    ],
)
def test_a_wrong_address_is_refused_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    monkeypatch.setenv("SECRET_HOOK", "hidden")
    with pytest.raises(UsageError) as error:
        check_addresses([address])
    assert message in str(error.value) and "hidden" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "wrong"),
    [("env:NO_SUCH_HOOK", "which is not set"), ("mailto:anna@example.org", "CINNABAR_SMTP: expected")],
)
def test_a_wrong_setting_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, wrong: str
) -> None:
    monkeypatch.setenv("CINNABAR_SMTP", "nonsense")
    write_notifications(tmp_path, [event("finished"), event("drift")], [address])
    begun = time.monotonic()
    (told,) = deliver_notifications(tmp_path, None, 30)
    assert wrong in told and len(waiting_notifications(tmp_path)) == 2 and time.monotonic() - begun < 10


def test_a_shorter_secret_than_the_standards_is_taken_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_WEBHOOK_SECRET", f"whsec_{base64.b64encode(b'k' * 16).decode()}")
    check_addresses(["https://hooks.example.org/"])
    monkeypatch.setenv("CINNABAR_WEBHOOK_SECRET", f"whsec_{base64.b64encode(b'k' * 15).decode()}")
    with pytest.raises(UsageError, match=r"24 to 64 bytes in base64 \(at least 16\)"):
        check_addresses(["https://hooks.example.org/"])


def test_a_secret_that_is_none_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_WEBHOOK_SECRET", "whsec_hidden")
    with pytest.raises(UsageError) as error:
        check_addresses(["https://hooks.example.org/"])
    assert "CINNABAR_WEBHOOK_SECRET" in str(error.value) and "hidden" not in str(error.value)


def test_an_address_in_the_environment_is_stored_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hook() as there:
        monkeypatch.setenv("OUR_HOOK", there.url)
        write_notifications(tmp_path, [event()], ["env:OUR_HOOK"])
        assert there.url not in waiting_notifications(tmp_path)[0].path.read_text()
        assert deliver_notifications(tmp_path, ["env:OUR_HOOK"], 5) == [] and there.kinds == ["finished"]


def test_what_may_be_a_token_in_an_address_is_not_shown() -> None:
    addresses = ["https://me@hooks.example.org/T0/hidden?key=hidden#drift", "mailto:anna@example.org", "env:OUR_HOOK"]
    assert [public_address(one) for one in addresses] == ["https://hooks.example.org/…", *addresses[1:]]
