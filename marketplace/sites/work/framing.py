"""Requesters' pages in a frame: the address they are given, and what may be framed where.

A requester's page is somebody else's: it lives in a sandboxed frame, learns only what MTurk would tell it, and needs
no cookie of ours. An HTMLQuestion is served from here and therefore always carries a sandbox of its own, so that
it cannot act as this site even when it is opened by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlencode, urlsplit, urlunsplit

NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"
#: What every task may do in its frame. A link to a survey opens a window without these limits, as it needs cookies.
_SANDBOX = "allow-scripts allow-forms allow-modals allow-downloads allow-popups allow-popups-to-escape-sandbox"
#: An ExternalQuestion keeps its own origin, so its own storage and cookies.
EXTERNAL_SANDBOX = f"{_SANDBOX} allow-same-origin"
#: An HTMLQuestion has no origin at all: the address it comes from is ours.
HTML_SANDBOX = _SANDBOX
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_OWN_ADDRESSES = (
    (re.compile(r"https?://(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit"), "submit"),
    (re.compile(r"(?:https?:)?//s3\.amazonaws\.com/mturk-public/externalHIT_v\d\.js"), "script"),
)


def question_url(url: str, *, hit_id: str, assignment_id: str, worker_id: str, submit_to: str) -> str:
    """The address with MTurk's parameters behind those it has; no worker is named in a preview."""
    given = {"assignmentId": assignment_id, "hitId": hit_id}
    if worker_id:
        given["workerId"] = worker_id
    given["turkSubmitTo"] = submit_to
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(given)) if part)
    return urlunsplit(parts._replace(query=query))


def origin(url: str) -> str:
    """Scheme, host and port as a policy names them; empty when the address has no such origin."""
    try:
        parts = urlsplit(url)
        name = parts.hostname or ""
        host = f"[{name}]" if ":" in name else name.encode("idna").decode()
        port = f":{parts.port}" if parts.port else ""
    except (ValueError, UnicodeError):
        return ""
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host.lower()):
        return ""
    return f"{parts.scheme}://{host.lower()}{port}"


def page_policy(frames: Iterable[str]) -> str:
    """Our own page with a frame in it. The frame may also come back to this site: its form is sent here."""
    framed = " ".join(["'self'", *frames])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; frame-src {framed}"
    )


def submitted_policy(ours: str, framed_by: Iterable[str]) -> str:
    """The page that answers a submission: our files, named by their origin because the frame may have none."""
    by = " ".join(["'self'", *framed_by])
    return (
        f"default-src 'none'; script-src 'self' {ours}; style-src 'self' {ours}; img-src data:; "
        f"form-action 'none'; base-uri 'none'; frame-ancestors {by}"
    )


def html_question_policy(ours: str) -> str:
    """A requester's HTML: it may load what it likes over HTTPS, run as nobody, and send its form only here."""
    return (
        f"default-src {ours} https: data: blob: 'unsafe-inline' 'unsafe-eval'; form-action {ours}; "
        f"base-uri 'none'; frame-ancestors 'self'; sandbox {HTML_SANDBOX}"
    )


def with_own_addresses(html: str, *, submit: str, script: str) -> str:
    """The page with MTurk's form address and script replaced by ours: pages written for MTurk name them in full."""
    ours = {"submit": submit, "script": script}
    for pattern, name in _OWN_ADDRESSES:
        html = pattern.sub(ours[name].replace("\\", r"\\"), html)
    return html


def form_policy(media: Iterable[str]) -> str:
    """Our own page with a requester's pictures and sounds in it."""
    sources = " ".join(["'self'", "data:", *media])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; "
        f"base-uri 'none'; frame-ancestors 'none'; img-src {sources}; media-src {sources}"
    )
