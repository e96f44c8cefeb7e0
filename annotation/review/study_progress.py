"""The progress of a study for pages: of a large one, from running totals and what was counted in the background."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.db.models.expressions import RawSQL
from django.utils import timezone

from annotation.models import Assignment, SlowFigures, Study, Submission, WorkTotal
from annotation.review import work_totals
from annotation.review.fairness import NEWEST, Comments, Fairness, comments_of, fairness_from, fairness_of
from annotation.review.progress import (
    NOT_FINISHED,
    ArmRow,
    Progress,
    arm_rows,
    arms_in_progress,
    progress,
    slow_figures,
    submissions_per_hour,
    sums_by_state,
    work_by_state,
)
from annotation.review.rating_counts import RatingCounts
from annotation.review.work_totals import Totals, totals_if_large
from annotation.work.hourly_pay import ArmTime, arm_times, pay_of

State = Assignment.State
LEFT_OUT = ("unconfirmed", "excluded", "extra", "excluded_by_rule", "repeated_ratings")
SUMMED = (
    *("received", "submitted", "released", "extra", "comments", "returned", "abandoned", "stopped"),
    *("flagged", "excluded", "ratings", "ratings_out"),
)
#: Slow figures are counted again after this time, and after so many times as long as counting them took.
COUNT_AGAIN_AFTER, TIMES_AS_LONG = timedelta(seconds=30), 50
#: SQLite uses the index of open assignments only if the state is written in the query.
_OPEN = RawSQL("SELECT id FROM annotation_assignment WHERE state = 'accepted'", [])


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """What the overview shows. ``counted_at``: when medians and complete items were counted; None for now.

    ``behind``: the newest work of so many workers is in no figure yet.
    """

    figures: Progress
    fairness: list[Fairness]
    comments: Comments
    counted_at: datetime | None = None
    behind: int = 0


def study_progress(study: Study, *, arms: Sequence[ArmRow] | None = None, posted: bool | None = None) -> StudyProgress:
    """The progress of the study. ``arms``, ``posted``: see `progress`."""
    totals = totals_if_large(study)
    if totals is None:
        times = arm_times(study)
        figures = progress(study, times=times, arms=arms, posted=posted)
        return StudyProgress(figures, fairness_of(study, times), comments_of(study))
    stored = SlowFigures.objects.filter(study=study).first()
    slow = stored.figures if stored else slow_figures(study)
    times = [ArmTime(name, reward and Decimal(reward), n, seconds) for name, reward, n, seconds in slow["times"]]
    sums = _sums(totals)
    return StudyProgress(
        figures=_figures(study, totals, sums, slow, times, arm_rows(study) if arms is None else arms),
        fairness=fairness_from(_work_of_workers(totals), times),
        comments=_comments(study, sums[True]["comments"] + sums[False]["comments"]),
        counted_at=stored.counted_at if stored else None,
        behind=totals.behind,
    )


def _sums(totals: Totals) -> dict[bool, dict[str, int]]:
    """The sums of the totals of people (False) and of simulated workers (True), and how many of them sent something."""
    sums = {simulated: dict.fromkeys((*SUMMED, "workers"), 0) for simulated in (False, True)}
    by_kind = totals.stored.order_by().values_list("participant__synthetic")
    for simulated, *values in by_kind.annotate(**{f"sum_{name}": Sum(name) for name in SUMMED}):
        sums[simulated] |= dict(zip(SUMMED, values, strict=True))
    for simulated in (False, True):
        senders = totals.stored.filter(received__gt=0, participant__synthetic=simulated)
        sums[simulated]["workers"] = senders.order_by().count()
    for total in totals.counted:
        its_kind = sums[total.participant.synthetic]
        for name in SUMMED:
            its_kind[name] += getattr(total, name)
        its_kind["workers"] += total.received > 0
    return sums


def _figures(
    study: Study,
    totals: Totals,
    sums: dict[bool, dict[str, int]],
    slow: Mapping[str, Any],
    times: Sequence[ArmTime],
    arms: Sequence[ArmRow],
) -> Progress:
    now = timezone.now()
    people, simulated = sums[False], sums[True]
    both = {name: people[name] + simulated[name] for name in people}
    work = work_by_state(Assignment.objects.filter(pk__in=_OPEN, hit__study=study), now)
    states, of_simulated = sums_by_state(work, lambda row: True), sums_by_state(work, lambda row: row.simulated)
    per_hour, simulated_per_hour = submissions_per_hour(Submission.objects.filter(study=study), now)
    return Progress(
        **slow["items"],
        missing=slow["missing"],
        hits=sum(arm.hits for arm in arms),
        hits_done=sum(arm.hits_done for arm in arms),
        wanted=sum(arm.wanted for arm in arms),
        submitted=both["submitted"],
        submitted_synthetic=simulated["submitted"],
        in_progress=states.get(State.ACCEPTED, 0),
        returned=both["returned"],
        abandoned=both["abandoned"] + states.get(State.ABANDONED, 0),
        stopped=both["stopped"],
        ratings=RatingCounts(
            both["ratings"], both["ratings"] - both["ratings_out"], people["ratings"] - people["ratings_out"]
        ),
        left_out=dict.fromkeys(LEFT_OUT, 0) | _by_reason(totals, "left_out"),
        workers=both["workers"],
        workers_synthetic=simulated["workers"],
        flagged=both["flagged"],
        flags=dict(sorted(_by_reason(totals, "flags").items())),
        excluded=both["excluded"],
        released=both["released"],
        extra=both["extra"],
        median_seconds=slow["median_seconds"],
        median_simulated=slow["median_simulated"],
        simulated={
            "items": slow["items_simulated"],
            "in_progress": of_simulated.get(State.ACCEPTED, 0),
            "not_finished": sum(simulated[state] for state in NOT_FINISHED) + of_simulated.get(State.ABANDONED, 0),
            "flagged": simulated["flagged"],
            "per_hour": simulated_per_hour,
        },
        per_hour=per_hour,
        arms=arms_in_progress(arms, work),
        pay=pay_of(study, times),
    )


def _by_reason(totals: Totals, name: str) -> dict[str, int]:
    """The sums of counts by reason, over all workers."""
    sums: Counter[str] = Counter()
    for (reasons,) in totals.rows(name):
        sums.update(reasons)
    return dict(sums)


def _work_of_workers(totals: Totals) -> dict[str, list[tuple[Decimal, float, int]]]:
    """By the name of an arm, the reward, seconds and submissions of each worker with paid work."""
    by_arm: dict[str, list[tuple[Decimal, float, int]]] = defaultdict(list)
    for arm, usd, seconds, n in totals.rows("participant__arm__name", "work_usd", "work_seconds", "work"):
        if n:
            by_arm[arm].append((usd, seconds, n))
    return by_arm


def _comments(study: Study, count: int) -> Comments:
    if not count:
        return Comments(0, [])
    comments = Submission.objects.filter(study=study).exclude(feedback="").select_related("participant")
    return Comments(count, list(comments.defer("answers").order_by("-received_at", "-pk")[:NEWEST]))


def count_slow_figures() -> int:
    """Count the slow figures of large studies whose work has changed since, where it is time. Returns how many."""
    now = timezone.now()
    n_counted = 0
    large = WorkTotal.objects.order_by().values_list("study").annotate(n=Sum("received"), done=Sum("submitted"))
    for study_id, received, submitted in large.filter(n__gte=work_totals.LARGE):
        study = Study.objects.get(pk=study_id)
        work = WorkTotal.objects.filter(study=study).aggregate(work=Sum("work"), excluded=Sum("excluded"))
        basis = [received, submitted, work["work"], work["excluded"], study.status]
        stored = SlowFigures.objects.filter(study=study).first()
        if stored and (
            stored.figures.get("basis") == basis
            or now < stored.counted_at + max(COUNT_AGAIN_AFTER, timedelta(seconds=TIMES_AS_LONG * stored.seconds))
        ):
            continue
        began = time.monotonic()
        figures = slow_figures(study) | {"basis": basis}
        SlowFigures.objects.update_or_create(
            study=study, defaults={"figures": figures, "counted_at": now, "seconds": time.monotonic() - began}
        )
        n_counted += 1
    return n_counted
