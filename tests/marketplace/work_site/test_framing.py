"""What requesters' pages are told, and what may be framed where."""

from __future__ import annotations

import pytest

from marketplace.sites.work import frames

GIVEN = {
    "hit_id": "3HIT",
    "assignment_id": "3ASSIGNMENT",
    "worker_id": "AWORKER",
    "submit_to": "https://market.example",
}
TAIL = "assignmentId=3ASSIGNMENT&hitId=3HIT&workerId=AWORKER&turkSubmitTo=https%3A%2F%2Fmarket.example"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/task", f"https://a.example/task?{TAIL}"),
        ("https://a.example/task?set=a%20b&set=c", f"https://a.example/task?set=a%20b&set=c&{TAIL}"),
        ("https://a.example/task?x=1#part", f"https://a.example/task?x=1&{TAIL}#part"),
        ("https://a.example", f"https://a.example?{TAIL}"),
    ],
)
def test_mturks_parameters_follow_those_of_the_url(url: str, expected: str) -> None:
    assert frames.question_url(url, **GIVEN) == expected


def test_a_preview_names_no_worker() -> None:
    given = GIVEN | {"assignment_id": frames.NOT_AVAILABLE, "worker_id": ""}
    url = frames.question_url("https://a.example/", **given)
    assert "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3HIT&turkSubmitTo=" in url
    assert "workerId" not in url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x?y", "https://a.example"),
        ("http://127.0.0.1:8123/x", "http://127.0.0.1:8123"),
        ("http://[::1]:81/", "http://[::1]:81"),
        ("https://user:secret@A.example/", "https://a.example"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example"),
        ("https://a.example;script-src/", ""),
        ("https://a.example *:1/", ""),
        ("https://a.example:notaport/", ""),
        ("javascript:alert(1)", ""),
        ("/path", ""),
    ],
)
def test_an_origin_can_add_nothing_to_a_policy(url: str, expected: str) -> None:
    assert frames.origin(url) == expected


def test_pages_written_for_mturk_are_pointed_here() -> None:
    html = (
        '<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>'
        '<form action="https://www.mturk.com/mturk/externalSubmit">'
        '<form action="https://workersandbox.mturk.com/mturk/externalSubmit">'
    )
    changed = frames.with_own_addresses(html, submit="https://m.example/mturk/externalSubmit", script="/own.js")
    assert "amazonaws" not in changed and "mturk.com" not in changed
    assert changed.count("https://m.example/mturk/externalSubmit") == 2
