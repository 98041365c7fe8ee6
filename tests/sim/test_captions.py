"""What bytes of a trace say."""

import pytest

from durasim.actors import WebRequest, WebResponse
from durasim.sim.captions import call_text, commit_text, deadline_of, reply_text
from durasim.sim.machine import EPOCH_US
from durasim.wire import ABSENT, Envelope, Reply, encode, encode_envelope, encode_reply, record_of


def call(*args: object, **kwargs: object) -> bytes:
    """Return the bytes of a call."""
    return encode_envelope(
        Envelope(1, "alice", 0, 1, 0, "Counter", "c", "add", args, kwargs, 1, "v1")
    )


def test_a_call_is_written_with_its_arguments() -> None:
    """Three of them, and how many more; long ones are cut."""
    assert call_text("add", call()) == "add()"
    assert call_text("add", call(1, "x", by=None)) == "add(1, 'x', by=None)"
    assert call_text("add", call(1, 2, 3, 4, 5)) == "add(1, 2, 3, 2 more)"
    assert call_text("add", call("x" * 50)) == "add('xxxxxxxxxxxxxxxxxx…)"


def test_a_request_of_the_web_is_its_method_and_path() -> None:
    """Names that machines have made are cut to what tells them apart; headers are nobody's."""
    secret = {"authorization": "Bearer s"}
    path = "/runs/order/b81d6646797b40cb3d6cffa7f5776fc2/start-liveness"
    asked = WebRequest("GET", path, b"body", secret)

    assert call_text("serve", call(asked)) == "serve(GET /runs/order/b81d…/start-liveness)"
    assert call_text("serve", call(WebRequest("PUT", "/" + "x" * 99))).endswith("xxx…)")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error":"no","reason":{"code":"EXECUTION_FENCED"}}', "503 EXECUTION_FENCED"),
        ({"ok": False, "code": "BAD_REQUEST"}, "503 BAD_REQUEST"),
        (b'{"runId":"r","status":"success"}', "503 success"),
        (b'{"state":"draining"}', "503 draining"),
        (b'{"live":false}', '503 {"live": false}'),
        (b'{"reason":"odd"}', '503 {"reason": "odd"}'),
        (b"[1]", "503 [1]"),
        (b"nope", "503 b'nope'"),
        (b"\xff" * 40, "503 b'" + r"\xff" * 7 + "\\…"),
        (7, "503 7"),
        (b"", "503"),
        (ABSENT, "503"),
    ],
)
def test_an_answer_of_the_web_is_its_status_and_its_gist(body: object, text: str) -> None:
    """The code of its reason, else how things stand, else what there is."""
    assert reply_text(encode_reply(Reply(1, 1, WebResponse(503, body), None))) == (text, False)


def test_damaged_calls_keep_their_method() -> None:
    """Bytes that are no envelope are no reason to draw nothing."""
    assert call_text("add", call()[:-1]) == "add(?)"


def test_a_deadline_is_virtual_time() -> None:
    """The envelope has it by the wall clock."""
    assert deadline_of(call()) == 1 - EPOCH_US
    assert deadline_of(b"") is None


def test_a_reply_is_its_value_or_its_error() -> None:
    """And says which of the two it is."""
    assert reply_text(encode_reply(Reply(1, 1, {"a": 1}, None))) == ("{'a': 1}", False)
    record = record_of(ValueError("no\nmore"))
    assert reply_text(encode_reply(Reply(1, 1, None, record))) == (r"ValueError: no\nmore", True)
    assert reply_text(b"\xc1") == ("cannot be read", True)


def test_a_commit_is_before_and_after() -> None:
    """New, changed and deleted keys, the rest counted, and the alarm in virtual time."""
    one, two = encode(1), encode(2)
    assert commit_text([("a", None, one), ("b", one, two)], "same") == "a = 1, b: 1 → 2"
    assert commit_text([("a", one, None)], None) == "a deleted, no alarm"
    assert commit_text([], EPOCH_US + 1_500_000) == "alarm at 1.5 s"
    keys = [(str(number), None, one) for number in range(5)]
    assert commit_text(keys, "same") == "0 = 1, 1 = 1, 2 = 1, 2 keys more"
    assert commit_text([("a", None, b"\xc1")], "same") == "a = <1 bytes>"
