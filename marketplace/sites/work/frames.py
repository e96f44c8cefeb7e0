"""Requesters' pages in a frame: the address they get, and what can be framed where.

A requester's page is not ours: it is in a sandboxed frame, gets only what MTurk would send it, and needs no cookie from
this site. An HTMLQuestion comes from this server, so it always has a sandbox and cannot act as this site, even when
somebody opens it without the frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlencode, urlsplit, urlunsplit

NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"
#: What every task can do in its frame. A link to a survey opens a window without these limits: surveys need cookies.
_SANDBOX = "allow-scripts allow-forms allow-modals allow-downloads allow-popups allow-popups-to-escape-sandbox"
#: An ExternalQuestion keeps its own origin, and with it its storage and cookies.
EXTERNAL_SANDBOX = f"{_SANDBOX} allow-same-origin"
#: An HTMLQuestion has no origin at all, because its address is ours.
HTML_SANDBOX = _SANDBOX
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_OWN_ADDRESSES = (
    (re.compile(r"https?://(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit"), "submit"),
    (re.compile(r"(?:https?:)?//s3\.amazonaws\.com/mturk-public/externalHIT_v\d\.js"), "script"),
)


def question_url(url: str, *, hit_id: str, assignment_id: str, worker_id: str, submit_to: str) -> str:
    """The address, with MTurk's parameters added after its own. A preview has no worker ID."""
    parameters = {"assignmentId": assignment_id, "hitId": hit_id}
    if worker_id:
        parameters["workerId"] = worker_id
    parameters["turkSubmitTo"] = submit_to
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(parameters)) if part)
    return urlunsplit(parts._replace(query=query))


def origin(url: str) -> str:
    """Scheme, host and port as a policy writes them; empty if the address has no such origin."""
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
    """The policy of our page with a frame in it. The frame can also load this site, where it sends its form."""
    framed = " ".join(["'self'", *frames])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; frame-src {framed}"
    )


def submitted_policy(own_origin: str, framed_by: Iterable[str]) -> str:
    """The policy of the page that answers a submission. It names our origin, because the frame may have none."""
    by = " ".join(["'self'", *framed_by])
    return (
        f"default-src 'none'; script-src 'self' {own_origin}; style-src 'self' {own_origin}; img-src data:; "
        f"form-action 'none'; base-uri 'none'; frame-ancestors {by}"
    )


def html_question_policy(own_origin: str) -> str:
    """The policy of a requester's HTML: it loads anything over HTTPS, has no origin, and sends its form only here."""
    return (
        f"default-src {own_origin} https: data: blob: 'unsafe-inline' 'unsafe-eval'; form-action {own_origin}; "
        f"base-uri 'none'; frame-ancestors 'self'; sandbox {HTML_SANDBOX}"
    )


def with_own_addresses(html: str, *, submit: str, script: str) -> str:
    """The page with our form address and script instead of MTurk's, which pages written for MTurk contain in full."""
    own_addresses = {"submit": submit, "script": script}
    for pattern, name in _OWN_ADDRESSES:
        html = pattern.sub(own_addresses[name].replace("\\", r"\\"), html)
    return html


def form_policy(media: Iterable[str]) -> str:
    """The policy of our own page with a requester's pictures and sounds in it."""
    sources = " ".join(["'self'", "data:", *media])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; "
        f"base-uri 'none'; frame-ancestors 'none'; img-src {sources}; media-src {sources}"
    )
