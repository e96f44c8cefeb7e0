"""Prolific's REST API, version 1: one request at a time, repeated where that is safe, with errors in plain words.

Prolific has no tokens that keep a request from taking effect twice. So this module never repeats a request that creates
something or pays if an error leaves its effect unknown; the caller first looks for what it did.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from django.conf import settings

from annotation.models import PlatformAccount
from annotation.platforms.account_keys import keys_of
from annotation.platforms.calls import Json, PlatformTrouble

TIMEOUT = 60
#: The longest wait before another try, in seconds, whatever the server asks for.
LONGEST_WAIT = 60.0
MOST_BYTES = 20 * 1024 * 1024


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the token to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Account:
    """Where the API is, and the token of the researcher who pays."""

    address: str
    token: str = field(repr=False)
    #: What messages call the token.
    token_name: str = "HITSERVER_PROLIFIC_TOKEN"  # noqa: S105 - the name of a variable

    @classmethod
    def of(cls, account: PlatformAccount | None) -> Account:
        """The account that a user or a team has entered, or the server's own. Raises PlatformTrouble."""
        if account is None:
            return cls.from_settings()
        return cls(account.endpoint, keys_of(account).token, f"the token of “{account.title}”")

    @classmethod
    def from_settings(cls) -> Account:
        """The account in the settings. Raises PlatformTrouble if there is no token."""
        account = cls(settings.PROLIFIC_API, settings.PROLIFIC_TOKEN)
        if not account.token:
            raise PlatformTrouble(
                "There is no token for Prolific.",
                "Make one on Prolific under Settings, API tokens, and set HITSERVER_PROLIFIC_TOKEN.",
                may_be_done=False,
            )
        return account


class Api:
    """Requests to one account. ``sleep`` gets the seconds to wait before another try.

    ``attempts`` limits the tries; 0: as many as the settings say.
    """

    def __init__(self, account: Account, *, sleep: Callable[[float], None] = time.sleep, attempts: int = 0) -> None:
        self._account, self._sleep, self._attempts = account, sleep, attempts
        self._opener = build_opener(_NoRedirects)

    def send(self, method: str, path: str, body: Json | None = None, *, repeat: bool = True, **query: Any) -> Any:
        """The answer to a request, from JSON. Raises PlatformTrouble.

        ``repeat``: sending it twice has the same effect as sending it once. Requests that were refused because there
        were too many are always sent again.
        """
        return self._try(method, self._address(path) + (f"?{urlencode(query)}" if query else ""), body, repeat)[0]

    def send_for_headers(self, method: str, path: str, body: Json) -> tuple[Any, Mapping[str, str]]:
        """The answer and its headers. A request that may have had an effect is not repeated. Raises PlatformTrouble."""
        return self._try(method, self._address(path), body, False)

    def _try(self, method: str, address: str, body: Json | None, repeat: bool) -> tuple[Any, Mapping[str, str]]:
        may_be_done, attempts = False, self._attempts or settings.PROLIFIC_ATTEMPTS
        for left in range(attempts - 1, -1, -1):
            try:
                return self._send(method, address, body)
            except _Refused as refused:
                may_be_done = may_be_done or refused.trouble.may_be_done
                if not left or not refused.trouble.again or (refused.trouble.may_be_done and not repeat):
                    refused.trouble.may_be_done = may_be_done
                    raise refused.trouble from None
                done = attempts - left
                self._sleep(min(LONGEST_WAIT, refused.wait or 2.0 ** (done - 1)))
        raise AssertionError("unreachable")

    def page(self, path: str, next_page: str = "") -> tuple[list[Json], str]:
        """One page of a list, and the address of the next one (empty: there is none). Raises PlatformTrouble."""
        answer = self.send("GET", next_page or path)
        rows = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise PlatformTrouble("Prolific sent something that is not a list.", _WRONG_ADDRESS)
        link = ((answer.get("_links") or {}).get("next") or {}).get("href")
        return rows, str(link or "")

    def _address(self, path: str) -> str:
        """The whole address of a path. Raises PlatformTrouble for a link to another host, which would get the token."""
        if "://" not in path:
            return f"{self._account.address.rstrip('/')}/{path}"
        if urlsplit(path)[:2] != urlsplit(self._account.address)[:2]:
            raise PlatformTrouble(f"Prolific sent a link to {urlsplit(path).netloc[:100]}.", _WRONG_ADDRESS)
        return path

    def _send(self, method: str, address: str, body: Json | None) -> tuple[Any, Mapping[str, str]]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {self._account.token}", "Content-Type": "application/json"}
        request = Request(address, data=data, headers=headers, method=method)  # noqa: S310 - the setting allows http(s)
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                if response.status == HTTPStatus.NO_CONTENT:
                    return None, response.headers
                answer = response.read(MOST_BYTES)
        except HTTPError as error:
            raise _refusal(error, self._account.token_name) from None
        except (OSError, HTTPException) as error:
            # If no connection was made, the request had no effect.
            reason = getattr(error, "reason", error)
            trouble = PlatformTrouble(
                f"{self._account.address} did not answer: {str(reason)[:200]}.",
                f"{_WRONG_ADDRESS} Then do the same again: it continues where it stopped.",
                again=True,
                may_be_done=not isinstance(reason, ConnectionRefusedError),
            )
            raise _Refused(trouble) from None
        if "json" not in response.headers.get_content_type():
            raise _Refused(PlatformTrouble("Prolific's address answered with a web page, not data.", _WRONG_ADDRESS))
        try:
            return json.loads(answer or b"null"), response.headers
        except ValueError:
            what = "Prolific's address sent something that is not JSON."
            raise _Refused(PlatformTrouble(what, _WRONG_ADDRESS)) from None


class _Refused(Exception):
    """A request was refused. ``wait``: the seconds that the server asks to wait, or 0."""

    def __init__(self, trouble: PlatformTrouble, wait: float = 0.0) -> None:
        super().__init__(str(trouble))
        self.trouble, self.wait = trouble, wait


_WRONG_ADDRESS = "Check HITSERVER_PROLIFIC_API."
_FIXES = {
    401: "Check {token}: it may be wrong or deleted.",
    403: "The token's owner may not do this: check their role in the workspace.",
    404: "Check HITSERVER_PROLIFIC_API, and that the token belongs to the researcher who owns the study.",
}


def _refusal(error: HTTPError, token_name: str) -> _Refused:
    """The error for an error status. Below 500, the request had no effect."""
    try:
        what = _error_text(error.read(100_000), error.headers.get_content_type())
    except (OSError, HTTPException):
        what = "the rest was lost."
    wait = str(error.headers.get("Retry-After", ""))
    trouble = PlatformTrouble(
        f"Prolific answered with status {error.code}: {what}",
        _FIXES.get(error.code, "").format(token=token_name),
        again=error.code == 429 or error.code >= 500,
        code=str(error.code),
        may_be_done=error.code >= 500,
    )
    return _Refused(trouble, float(wait) if wait.isdecimal() else 0.0)


def _error_text(data: bytes, content_type: str) -> str:
    """The text of an error, in one line."""
    if "json" not in content_type:
        return "it sent a web page, not data."
    try:
        answer = json.loads(data)
    except ValueError:
        return "it sent something that cannot be read."
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("title", "detail", "message", "additional_information")]
        error = " ".join(part if isinstance(part, str) else json.dumps(part) for part in parts if part) or error
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return " ".join(text.split())[:500]
