"""Work on texts that the same worker had rated before: only databases of earlier versions have any.

The database refuses such work now (`annotation.models.TakenItem`).
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Assignment, Item, Study, TakenItem

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
