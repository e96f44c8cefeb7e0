"""Opens places again that repeated work fills: see `annotation.queries.repeats`.

The work itself stays, with what it says about other texts. The analysis counts one rating of a text per worker.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F

from annotation.models import Assignment, Hit, Study
from annotation.platforms.costs import Offered
from annotation.queries.among import among
from annotation.queries.repeats import repeated_work
from annotation.services.audit import record
from annotation.services.deadlocks import again_after_deadlock
from common.problems import invalid

State = Assignment.State


def places_to_reopen(study: Study) -> Mapping[int, int]:
    """By hit, how many places `reopen_repeats` would open now. Changes nothing."""
    with transaction.atomic():
        places = _release(study)
        transaction.set_rollback(True)
    return places


def as_offered(places: Mapping[int, int]) -> list[Offered]:
    """The places as further work on a platform, for its cost."""
    rewards = Hit.objects.filter(pk__in=among(places)).order_by("pk").values_list("pk", "reward")
    return [Offered(1, reward, places[pk]) for pk, reward in rewards]


@again_after_deadlock
@transaction.atomic
def reopen_repeats(*, study: Study, actor: str) -> int:
    """Free the place of each submission whose worker had rated one of its texts before. Returns how many.

    Another worker can then take it; on a platform, the next sync offers it. Running it again does nothing. Raises
    Invalid if the study is closed or a draft.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if now.status not in (Study.Status.LIVE, Study.Status.PAUSED):
        what = f"The study is {now.get_status_display().lower()}, so nobody can take the places."
        raise invalid("status", what, "Duplicate it to collect more ratings.")
    places = _release(now)
    if places:
        record(study=now, actor=actor, action="reopen repeats", places=sum(places.values()))
    return sum(places.values())


def _release(study: Study) -> Mapping[int, int]:
    """Release repeats from the earliest on: without it, later work of the same worker may be their only rating."""
    repeats = repeated_work(study)
    places: dict[int, int] = {}
    for pk, hit_id in list(repeats.values_list("pk", "hit_id")):
        if repeats.filter(pk=pk).exists() and Assignment.objects.filter(pk=pk, state=State.SUBMITTED).update(
            state=State.RELEASED
        ):
            places[hit_id] = places.get(hit_id, 0) + 1
    for hit_id, freed in sorted(places.items()):
        Hit.objects.filter(pk=hit_id).update(n_live=F("n_live") - freed, n_submitted=F("n_submitted") - freed)
    return places
