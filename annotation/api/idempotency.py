"""Writes that happen once, however often a program sends them: the ``Idempotency-Key`` header.

The answer is stored in the transaction of the write. So a process that is killed has done nothing, or has stored what
the next try gets. What takes longer than a request becomes a job, and storing the job is the write. Only answers that
report success are stored: after a refusal, the same key can be tried again. An answer with a secret is stored sealed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, connection, transaction
from django.http import QueryDict
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import studies_of
from annotation.deadlocks import again_after_deadlock
from annotation.models import ApiAnswer
from common.problems import invalid
from common.sealing import CannotOpen, open_sealed, seal

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
WRITES = ("POST", "PUT", "PATCH", "DELETE")
MOST_CHARACTERS = 255
#: Seconds after which a program that met its own first try should ask again.
AGAIN_SECONDS = 1
#: What the renderer decides anew for each answer.
NOT_STORED = ("content-type", "content-length")
#: What the stored body of an answer with a secret begins with. No JSON does.
SEALED = "sealed:"
PURPOSE = "answers of the API"

Write = Callable[[], Response]


class KeyReused(APIException):
    """The key belongs to another request."""

    status_code = 422
    default_code = "idempotency-key-reused"
    default_detail = (
        f"This {HEADER} was sent before with another address or body. Send a new key for a new request; send the same "
        "key only to repeat the same one."
    )


class SecretGone(APIException):
    """The stored answer has a secret that this server can no longer open."""

    status_code = 409
    default_code = "secret-gone"
    default_detail = "This was done, but the secret in its answer cannot be read any more. Make a new one."


class StillRunning(APIException):
    """The first request with this key has not ended."""

    status_code = 409
    default_code = "still-running"
    default_detail = "The first request with this key is still running. Wait a second, then send it again."
    wait = AGAIN_SECONDS


def answer_once(
    request: Request, write: Write, *, prepare: Callable[[], None], slug: str = "", secret: bool = False
) -> Response:
    """What ``write`` answers or, if this user has sent the key before, the stored answer.

    With a key, it runs in a transaction, so it must not call another server; ``prepare`` runs before that.
    ``secret``: the answer has a secret, so it is stored sealed. Raises KeyReused, SecretGone, StillRunning, Invalid.
    """
    key = request.headers.get(HEADER)
    if key is None:
        prepare()
        return write()
    if not 0 < len(key) <= MOST_CHARACTERS or not key.isascii() or not key.isprintable():
        what = f"The {HEADER} is empty, too long, or has characters that a header cannot have."
        raise invalid(HEADER, what, f"Send 1 to {MOST_CHARACTERS} printable ASCII characters, such as a UUID.")
    user: Any = request.user
    fingerprint = fingerprint_of(request)
    if earlier := stored_answer(user, key, fingerprint):
        return earlier
    prepare()
    return _first_answer(write, user, key, fingerprint, slug=slug, secret=secret)


@again_after_deadlock
def _first_answer(write: Write, user: User, key: str, fingerprint: str, *, slug: str, secret: bool) -> Response:
    try:
        with transaction.atomic():
            _lock(user, key)
            if earlier := stored_answer(user, key, fingerprint):
                return earlier
            response = write()
            if response.status_code < 300:
                _store(response, user, key, fingerprint, slug, secret)
            else:
                transaction.set_rollback(True)
            return response
    except OperationalError as error:
        if "database is locked" in str(error):  # SQLite has one writer, who may be the first request
            raise StillRunning from None
        raise


def _lock(user: User, key: str) -> None:
    """Lock the key until the transaction ends. SQLite lets only one transaction write anyway. Raises StillRunning."""
    if connection.vendor != "postgresql":
        return
    number = int.from_bytes(hashlib.sha256(f"{user.pk}/{key}".encode()).digest()[:8], "big", signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise StillRunning


def stored_answer(user: User, key: str, fingerprint: str) -> Response | None:
    """What the first request with this key got. None: none, or it is too old. Raises KeyReused, SecretGone."""
    since = timezone.now() - timedelta(days=settings.KEEP_API_ANSWERS_DAYS)
    answer = ApiAnswer.objects.filter(user=user, key=key, created_at__gt=since).first()
    if answer is None:
        return None
    if answer.fingerprint != fingerprint:
        raise KeyReused
    text = answer.body
    if text.startswith(SEALED):
        try:
            text = open_sealed(text.removeprefix(SEALED), purpose=PURPOSE, bound_to=_bound_to(user, key))
        except CannotOpen:
            raise SecretGone from None
    body = json.loads(text) if text else None
    return Response(body, status=answer.status, headers={**answer.headers, REPLAYED: "true"})


def _bound_to(user: User, key: str) -> str:
    return json.dumps([user.pk, key])


def _store(response: Response, user: User, key: str, fingerprint: str, slug: str, secret: bool) -> None:
    body = "" if response.data is None else JSONRenderer().render(response.data).decode()
    if secret:
        body = SEALED + seal(body, purpose=PURPOSE, bound_to=_bound_to(user, key))
    values = {
        "fingerprint": fingerprint,
        "status": response.status_code,
        "headers": {name: value for name, value in response.items() if name.lower() not in NOT_STORED},
        "body": body,
        "study": studies_of(user).filter(slug=slug).first() if slug else None,
        "created_at": timezone.now(),
    }
    ApiAnswer.objects.update_or_create(user=user, key=key, defaults=values)  # replaces one that is too old


def fingerprint_of(request: Request) -> str:
    """Identifies the request: its method, address and body. Files are read in pieces."""
    digest = hashlib.sha256()
    for part in (request.method or "", request.get_full_path(), *_body_parts(request.data)):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _body_parts(data: Any) -> Iterator[str | bytes]:
    if isinstance(data, QueryDict):
        for name, values in sorted(data.lists()):
            yield name
            for value in values:
                yield from _body_parts(value)
    elif isinstance(data, UploadedFile):
        yield data.name or ""
        for chunk in data.chunks():
            yield hashlib.sha256(chunk).digest()
        data.seek(0)
    elif isinstance(data, str | bytes):
        yield data
    else:
        yield json.dumps(data, sort_keys=True, default=str)
