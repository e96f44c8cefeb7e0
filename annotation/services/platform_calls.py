"""Calls to a platform that take effect once, whatever fails in between.

A call is recorded and committed, then made, then its result is recorded. If the process dies in between, the next
process makes the same call with the same token, and the platform answers that it was done before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import PlatformCall, Posting, Study
from annotation.platforms.mturk.api import Mturk, PlatformTrouble

#: The platform remembers tokens for 24 hours. Later, only a search can find out whether the call took effect.
TOKEN_LIFE = timedelta(hours=23)
Json = dict[str, Any]
#: Looks for what an earlier try created. Returns its result, or None if there is none.
Search = Callable[[Mturk, PlatformCall], Json | None]


def intend(
    *, study: Study, key: str, operation: str, params: Mapping[str, Any], posting: Posting | None = None
) -> PlatformCall:
    """The call with this key, recorded before it is made. An existing one is returned unchanged."""
    call, _ = PlatformCall.objects.get_or_create(
        key=key,
        defaults={
            "study": study,
            "posting": posting,
            "operation": operation,
            "params": dict(params),
            "token": token_for(key),
        },
    )
    return call


def token_for(key: str) -> str:
    """The token for a key: always the same on this server, and a different one on every other server."""
    return hashlib.sha256(f"{settings.SECRET_KEY}|{key}".encode()).hexdigest()[:40]


def make(
    call: PlatformCall,
    api: Mturk,
    *,
    search: Search | None = None,
    search_on: Sequence[str] = ("AlreadyExists",),
    done: Callable[[Json], None] = lambda result: None,
    with_token: bool = True,
) -> Json:
    """Make the call if it has not been made, store its result and return it. Raises PlatformTrouble.

    ``done`` stores what follows from the result, in the same transaction. ``search`` looks for what an earlier try
    created. It runs if that try's token may be forgotten, or if the platform only reports that the token was used: an
    error code that contains a part of ``search_on``.
    """
    if call.state == PlatformCall.State.DONE:
        return dict(call.result)
    result = _found_before(call, api, search)
    if result is None:
        result = _ask(call, api, search, search_on, with_token=with_token)
    with transaction.atomic():
        now = PlatformCall.objects.select_for_update(no_key=True).get(pk=call.pk)
        if now.state != PlatformCall.State.DONE:
            done(result)
            now.state, now.result, now.error, now.done_at = PlatformCall.State.DONE, result, "", timezone.now()
            now.save(update_fields=["state", "result", "error", "done_at"])
    call.refresh_from_db()
    return dict(call.result)


def _found_before(call: PlatformCall, api: Mturk, search: Search | None) -> Json | None:
    if search is None or call.first_tried_at is None or timezone.now() - call.first_tried_at < TOKEN_LIFE:
        return None
    return search(api, call)


def _ask(call: PlatformCall, api: Mturk, search: Search | None, search_on: Sequence[str], *, with_token: bool) -> Json:
    now = timezone.now()
    PlatformCall.objects.filter(pk=call.pk).update(tries=F("tries") + 1, first_tried_at=call.first_tried_at or now)
    token = {"UniqueRequestToken": call.token} if with_token else {}
    try:
        return _plain(api.call(call.operation, **call.params, **token))
    except PlatformTrouble as trouble:
        was_made = any(part in trouble.code for part in search_on)
        found = search(api, call) if search is not None and was_made else None
        if found is not None:
            return found
        state = PlatformCall.State.PENDING if trouble.again else PlatformCall.State.REFUSED
        PlatformCall.objects.filter(pk=call.pk).exclude(state=PlatformCall.State.DONE).update(
            state=state, error=str(trouble)[:2000]
        )
        raise


def _plain(answer: Json) -> Json:
    """The part of an answer that is stored: the ids."""
    hit = answer.get("HIT", {})
    found = {name: answer[name] for name in ("HITTypeId",) if name in answer}
    return found | {name: hit[name] for name in ("HITId", "HITTypeId", "HITGroupId") if name in hit}
