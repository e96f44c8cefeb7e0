"""Calls to a platform that take effect once, whatever fails in between.

A call is recorded and committed, then made, then its result is recorded. If the process dies in between, the next
process makes the same call with the same token, and the platform responds that it was done before. On a platform that
has no tokens, the next process looks for what the first try did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import PlatformCall, Posting, Study
from annotation.platforms.base import Platform
from annotation.platforms.calls import Call, Json, PlatformTrouble, Search

State = PlatformCall.State


def intend(
    *, study: Study, key: str, operation: str, params: Callable[[], Json], posting: Posting | None = None
) -> PlatformCall:
    """The call with this key, recorded before it is made.

    An existing one is returned unchanged, so that the record says what was sent. Only if it certainly had no effect is
    it made with what is asked for now.
    """
    call, new = PlatformCall.objects.get_or_create(
        key=key,
        defaults={
            "study": study,
            "posting": posting,
            "operation": operation,
            "params": params,
            "token": token_for(key),
        },
    )
    if not new and call.state != State.DONE and call.first_tried_at is None:
        call.params = params()
        call.save(update_fields=["params"])
    return call


def token_for(key: str) -> str:
    """The token for a key: always the same on this server, and a different one on every other server."""
    return hashlib.sha256(f"{settings.SECRET_KEY}|{key}".encode()).hexdigest()[:40]


def make_all(
    calls: Sequence[Call],
    platform: Platform,
    *,
    study: Study,
    posting: Posting | None,
    done: Callable[[Sequence[Json]], object] = lambda results: None,
    exact: bool = False,
) -> list[Json]:
    """Make the calls in order, each once, and return their results. Raises PlatformTrouble.

    ``done`` stores what follows from all results, in the transaction that stores the last one. ``exact``: it also
    stores the details of the calls, so a call that an earlier try made or may have made with others is refused.
    """
    results: list[Json] = []
    if not calls:
        with transaction.atomic():
            done(results)
    for number, call in enumerate(calls, start=1):
        recorded = intend(
            study=study, posting=posting, key=call.key, operation=call.operation, params=partial(call.params, results)
        )
        if exact:
            _refuse_other_details(recorded, call.params(results))
        results.append(
            make(
                recorded,
                platform,
                search=call.search,
                search_on=call.search_on,
                done=(lambda last: done([*results, last])) if number == len(calls) else lambda result: None,
                with_token=call.with_token,
            )
        )
    return results


def _refuse_other_details(call: PlatformCall, params: Json) -> None:
    before = {name: value for name, value in call.params.items() if params.get(name) != value}
    if not before and call.params.keys() == params.keys():
        return
    details = ", ".join(f"{name} “{value}”" for name, value in before.items())
    when = "This was done before" if call.state == State.DONE else "An earlier try, which may have succeeded, was made"
    fix = "Sync the study to see what the platform has." + (
        "" if call.state == State.DONE else " To try again, use the same details."
    )
    raise PlatformTrouble(f"{when} with other details: {details or 'fewer of them'}.", fix, may_be_done=False)


def make(
    call: PlatformCall,
    platform: Platform,
    *,
    search: Search | None = None,
    search_on: Sequence[str] = ("AlreadyExists",),
    done: Callable[[Json], object] = lambda result: None,
    with_token: bool = True,
) -> Json:
    """Make the call if it has not been made, store its result and return it. Raises PlatformTrouble.

    ``done`` stores what follows from the result, in the same transaction. ``search`` looks for what an earlier try
    did. It runs if the platform may have forgotten that try, or if the platform refused the call with a code that
    contains one of ``search_on``: it may refuse the call only because it was made before.
    """
    if call.state == State.DONE:
        return dict(call.result)
    result = None
    if search is not None and call.first_tried_at is not None:
        may_be_forgotten = timezone.now() - call.first_tried_at >= platform.token_life
        result = search(call) if may_be_forgotten else None
    if result is None:
        result = _call_platform(call, platform, search, search_on, with_token=with_token)
    with transaction.atomic():
        now = PlatformCall.objects.select_for_update(no_key=True).get(pk=call.pk)
        if now.state != State.DONE:
            done(result)
            now.state, now.result, now.error, now.done_at = State.DONE, result, "", timezone.now()
            now.save(update_fields=["state", "result", "error", "done_at"])
    call.refresh_from_db()
    return dict(call.result)


def _call_platform(
    call: PlatformCall, platform: Platform, search: Search | None, search_on: Sequence[str], *, with_token: bool
) -> Json:
    first = call.first_tried_at
    PlatformCall.objects.filter(pk=call.pk).update(tries=F("tries") + 1, first_tried_at=first or timezone.now())
    token = {platform.token_field: call.token} if with_token and platform.token_field else {}
    try:
        return platform.kept(platform.call(call.operation, **call.params, **token))
    except PlatformTrouble as trouble:
        if not trouble.again and any(part in trouble.code for part in search_on):
            result = _search_after_refusal(call, search)
            if result is not None:
                return result
        # A call that certainly had no effect does not count as tried.
        values = {} if trouble.may_be_done else {"first_tried_at": first}
        state = State.PENDING if trouble.again else State.REFUSED
        not_done = PlatformCall.objects.filter(pk=call.pk).exclude(state=State.DONE)
        not_done.update(state=state, error=str(trouble)[:2000], **values)
        raise


def _search_after_refusal(call: PlatformCall, search: Search | None) -> Json | None:
    """What the search finds after a refusal. Raises PlatformTrouble if the platform does not answer it either.

    Then the call stays pending, because nobody knows whether it took effect.
    """
    try:
        return search(call) if search is not None else None
    except PlatformTrouble as trouble:
        if trouble.again:
            raise
        return None
