"""The list of studies, and a study's log."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Greatest

from annotation import access
from annotation.models import AuditEntry, Hit, Item, Study, Submission


def _per_study(rows: QuerySet[Any], value: Any) -> Subquery:
    """A subquery: ``value`` aggregated over the rows of each study."""
    return Subquery(rows.filter(study=OuterRef("pk")).order_by().values("study").annotate(found=value).values("found"))


def listed_studies(user: User) -> QuerySet[Study]:
    """The studies that a user may see, those with the latest activity first.

    Each has ``n_items``, ``n_wanted`` and ``n_submitted`` (hits × workers), ``n_simulated`` (submissions) and
    ``last_activity``.
    """
    studies = access.studies_of(user).select_related("team")
    simulated = Submission.objects.filter(participant__synthetic=True)
    return studies.annotate(
        n_items=Coalesce(_per_study(Item.objects.all(), Count("pk")), 0),
        n_wanted=Coalesce(_per_study(Hit.objects.all(), Sum("wanted")), 0),
        n_submitted=Coalesce(_per_study(Hit.objects.all(), Sum("n_submitted")), 0),
        n_simulated=Coalesce(_per_study(simulated, Count("pk")), 0),
        last_activity=Greatest(
            Coalesce(_per_study(Submission.objects.all(), Max("received_at")), "created_at"),
            Coalesce(_per_study(AuditEntry.objects.all(), Max("created_at")), "created_at"),
        ),
    ).order_by("-last_activity", "-pk")


def latest_entries(study: Study) -> QuerySet[AuditEntry]:
    """The study's log, newest entry first."""
    return AuditEntry.objects.filter(study=study).order_by("-pk")
