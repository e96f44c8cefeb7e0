"""Work on texts that the same worker had rated before, and opening its places again.

Only databases of earlier versions have any. The work itself stays, with what it says about other texts. The analysis
counts one rating of a text per worker.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.many_ids import among
from annotation.models import Assignment, Hit, Item, Study, TakenItem
from annotation.platforms.costs import Offered
from common.problems import invalid

State = Assignment.State


def rated_before() -> Exists:
    """Whether the worker of an assignment has another, submitted one that holds one of its main items."""
    held = TakenItem.objects.filter(
        participant=OuterRef("participant"),
        item__role=Item.Role.MAIN,
        item__places__hit=OuterRef("hit"),
        assignment__state=State.SUBMITTED,
    )
    return Exists(held.exclude(assignment=OuterRef("pk")))


def repeated_work(study: Study) -> QuerySet[Assignment]:
    """Submitted work of which the same worker had rated a text before. It fills a place and adds no rater."""
    return Assignment.objects.filter(rated_before(), hit__study=study, state=State.SUBMITTED).order_by("pk")


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
