"""One worker of a study: what they did, how fast, how much they agree with others, and what excluding them changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q

from annotation.many_ids import among
from annotation.models import Assignment, Flag, Participant, Rating, Study, Submission
from annotation.review.payments_due import due
from annotation.studies.declared_scores import instruments_of, questions_of, scores_of
from annotation.studies.item_scores import rating_frame
from annotation.work.left_out import excluded_submissions, left_out_submissions

State = Assignment.State
#: Levels of scales whose points are numbers. The report uses the same levels.
NUMERIC = ("ordinal", "interval")
#: The time of others is the median over so many of their newest submissions: sorting all takes too long for a page.
NEWEST_OF_OTHERS = 10_000


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """Counts and times of one worker. ``median_of_others``: the median over the submissions of all other workers, who
    are people, or simulated if this worker is; over the newest `NEWEST_OF_OTHERS` if there are more (``of_newest``)."""

    submissions: int
    excluded: int
    flagged: int
    in_progress: int
    returned: int
    timed_out: int
    median_seconds: float | None
    fastest_seconds: float | None
    median_of_others: float | None
    stopped: int = 0
    of_newest: int | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one worker's ratings on a topic compare with those of others, leave-one-out; None if undefined.

    ``agreement``: on numeric scales Pearson's r with the means of the others, on nominal scales the share of equal
    answers. ``bias``: mean of rating − mean of the others, in points of the scale. ``compared``: how many of these
    ratings others gave too.
    """

    title: str
    numeric: bool
    ratings: int
    compared: int
    agreement: float | None
    bias: float | None
    top_share: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What excluding a worker would change. ``due`` is what they are owed now, in USD."""

    submissions: int
    ratings: int
    items: int
    places: int
    in_progress: bool
    hits_due: int
    due: Decimal


def worker_figures(participant: Participant) -> WorkerFigures:
    """The figures of one worker. Simulated workers are compared only with simulated workers."""
    submissions = Submission.objects.filter(participant=participant)
    others = Submission.objects.filter(study=participant.study_id, participant__synthetic=participant.synthetic)
    states = dict(participant.assignments.values_list("state").annotate(n=Count("pk")).order_by())
    newest = others.exclude(participant=participant).order_by("-received_at", "-pk").values_list("seconds", flat=True)
    of_others = list(newest[: NEWEST_OF_OTHERS + 1])
    more = len(of_others) > NEWEST_OF_OTHERS
    seconds = sorted(submissions.values_list("seconds", flat=True))
    return WorkerFigures(
        submissions=len(seconds),
        excluded=submissions.filter(pk__in=excluded_submissions(participant.study, [participant.pk])).count(),
        flagged=Flag.objects.filter(submission__participant=participant).values("submission").distinct().count(),
        in_progress=states.get(State.ACCEPTED, 0),
        returned=states.get(State.RETURNED, 0),
        timed_out=states.get(State.ABANDONED, 0),
        median_seconds=_middle(seconds),
        fastest_seconds=seconds[0] if seconds else None,
        stopped=states.get(State.STOPPED, 0),
        median_of_others=_middle(sorted(of_others[:NEWEST_OF_OTHERS])),
        of_newest=NEWEST_OF_OTHERS if more else None,
    )


def exclusion_effect(participant: Participant) -> Effect:
    """The effect of excluding what is not excluded yet."""
    used = Submission.objects.filter(participant=participant).exclude(
        pk__in=excluded_submissions(participant.study, [participant.pk])
    )
    ratings = Rating.objects.filter(submission__in=used).aggregate(n=Count("pk"), items=Count("item", distinct=True))
    states = participant.assignments.aggregate(
        places=Count("pk", filter=Q(state=State.SUBMITTED)), open=Count("pk", filter=Q(state=State.ACCEPTED))
    )
    owed = due(participant.study, pseudonym=participant.pseudonym)
    return Effect(
        submissions=used.count(),
        ratings=ratings["n"],
        items=ratings["items"],
        places=states["places"],
        in_progress=bool(states["open"]),
        hits_due=owed.hits,
        due=owed.total,
    )


def agreement_with_others(study: Study, participant: Participant) -> list[Agreement]:
    """One entry per score that the worker has ratings for. Others' submissions count if the analysis includes them."""
    # By submission, because ratings have no index of their participants.
    ratings = Rating.objects.filter(submission__participant=participant).order_by()
    items = list(ratings.values_list("item_id", flat=True).distinct())
    own_submissions = set(Submission.objects.filter(participant=participant).values_list("pk", flat=True))
    instruments = instruments_of(study, list(study.arms.all()))
    scores = scores_of(instruments)
    if not (scores and own_submissions and any(items)):
        return []
    from analysis.agreement import worker_diagnostics  # loads pandas
    from analysis.scores import prepared_ratings

    levels = {question.topic: question.scale.level for question in questions_of(instruments)}
    item_ids = [item for item in items if item is not None]
    raters = Rating.objects.filter(item__in=among(item_ids)).order_by().values_list("participant", flat=True).distinct()
    left_out = set(left_out_submissions(study, list(raters))) - own_submissions
    agreements = []
    for score in scores:
        rated = prepared_ratings(rating_frame(item_ids, left_out=left_out), score)
        if participant.pk not in set(rated["worker"]):
            continue
        rated = rated.assign(unit=rated.groupby(["item", "target"], sort=False).ngroup())
        numeric = bool(score.terms) or levels.get(score.topic) in NUMERIC
        diagnostics = worker_diagnostics(rated, rater="worker", scale="numeric" if numeric else "nominal")
        row: dict[Any, Any] = diagnostics.loc[[participant.pk]].iloc[0].to_dict()
        agreements.append(
            Agreement(
                title=score.title,
                numeric=numeric,
                ratings=int(row["ratings"]),
                compared=int(row["compared"]),
                agreement=_figure(row["agreement"]),
                bias=_figure(row["bias"]) if numeric else None,
                top_share=float(row["top_share"]),
            )
        )
    return agreements


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _middle(ordered: list[float]) -> float | None:
    half = len(ordered) // 2
    if not ordered:
        return None
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
