"""Looks at running studies that have a rule for stopping early, and closes those in which everything is settled.

Until then, nobody new gets hits whose levels are all settled, where this server chooses the hits. A look reads the
answers as a report would. Two processes may look at once: only the first stores its look, and closes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from smtplib import SMTPException
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Exists, F, Max, OuterRef, Q, Sum
from django.db.models.functions import Least
from django.urls import reverse
from django.utils import timezone

from analysis.description import StoppingRule
from annotation.audit import record
from annotation.deadlocks import TRIES, is_deadlock
from annotation.many_ids import among, among_texts
from annotation.models import Hit, HitItem, Item, PlatformJob, Posting, StoppingLook, Study
from annotation.recruiting.job_requests import request_job
from annotation.recruiting.offered_work import posted_on
from annotation.review.owner_mail import mail_owners
from annotation.studies.stopping_rule import rule_of
from annotation.studies.storing import close_study
from common.problems import Refused
from common.words import counted

if TYPE_CHECKING:
    from analysis.findings.looks import Look

log = logging.getLogger(__name__)
ACTOR = "stopping rule"
RUNNING = (Study.Status.LIVE, Study.Status.PAUSED)
OFFERED = (Posting.State.OPEN, Posting.State.PAUSED)


@dataclass(frozen=True, slots=True)
class DueLook:
    """``number`` of the look that the rule asks for at this ``share`` of the planned submissions, from 0 to 1.
    ``rest_done``: nothing is left to collect but what the rule needs no more of."""

    study: Study
    rule: StoppingRule
    number: int
    share: float
    rest_done: bool


def look_at_due_studies() -> int:
    """Look at every running study that has enough new submissions. Returns the number of studies that stopped."""
    stopped = sum(look(due) for due in due_looks())
    for stored in StoppingLook.objects.filter(stopped=True, told_at=None).select_related("study"):
        tell_owners(stored)
    return stopped


def due_looks() -> list[DueLook]:
    """One query, and two for each running study that has a rule."""
    looks: list[DueLook] = []
    running = Study.objects.filter(status__in=RUNNING).annotate(last=Max("stopping_looks__number")).order_by("pk")
    for study in running:
        rule = rule_of(study.stopping)
        if rule is None:
            continue
        share, last = share_submitted(study), study.last or 0
        rest_done = last > 0 and not study.hits.filter(held=False, n_submitted__lt=F("wanted")).exists()
        if (number := rule.looks_by(share)) > last or (rest_done and study.hits.filter(held=True).exists()):
            looks.append(DueLook(study, rule, max(number, last + 1), share, rest_done))
    return looks


def share_submitted(study: Study) -> float:
    """How much of the planned submissions has arrived, from 0 to 1. One query."""
    hits = Hit.objects.filter(study=study).order_by()
    sums = hits.aggregate(done=Sum(Least("n_submitted", "wanted")), planned=Sum("wanted"))
    return (sums["done"] or 0) / sums["planned"] if sums["planned"] else 0.0


def look(due: DueLook) -> bool:
    """Store what this look sees. If everything is settled, close the study, and say so on its platform. Returns whether
    it did."""
    from analysis.report.stopping import (  # loads pandas, which takes a second
        all_settled,
        looks_now,
        needs_no_more,
        settled_levels,
    )
    from annotation.results.frames import study_data

    looks: list[Look] = []
    problem = ""
    needless: tuple[set[str], set[str]] = (set(), set())
    try:
        data = study_data(due.study)
        looks = looks_now(data, due.rule)
        needless = needs_no_more(data, due.rule, settled_levels(looks))
    except ValueError as error:
        problem = f"{str(error)[:1].upper()}{str(error)[1:]}."
    except Exception as error:
        log.exception("The look at %s failed; the next one tries again", due.study.slug)
        problem = f"An error ended this look: {type(error).__name__}. The next look tries again."
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=due.study.pk)
        seen = StoppingLook.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        if study.status not in RUNNING or seen >= due.number:
            return False
        stops = all_settled(looks) or (due.rest_done and bool(looks))
        StoppingLook.objects.create(
            study=study,
            number=due.number,
            share=due.share,
            submissions=study.submissions.count(),
            differences=[in_json(pair) for pair in looks],
            problem=problem,
            stopped=stops,
        )
        if stops:
            record(study=study, actor=ACTOR, action="stop early", share=round(due.share, 4), differences=len(looks))
            close_study(study=study, actor=ACTOR)
            end_offer(study)
    if not stops:
        hold(study, *needless)
    return stops


def hold(study: Study, items: Collection[str], arms: Collection[str]) -> None:
    """Give out no more of the hits that have only these main items, or are in these arms; and the others again.

    Locks rows in the order of their ids, as `reclaim_expired` does, and tries again if PostgreSQL ends it nevertheless.
    """
    main = HitItem.objects.filter(hit=OuterRef("pk"), item__role=Item.Role.MAIN)
    others = main.exclude(item__external_id__in=among_texts(items))
    only_these = Q(arm__name__in=arms) | (Exists(main) & ~Exists(others))
    hits = Hit.objects.filter(study=study)
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                list(hits.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
                for held, chosen in ((True, hits.filter(only_these)), (False, hits.exclude(only_these))):
                    changed = list(chosen.filter(held=not held).values_list("pk", flat=True))
                    Hit.objects.filter(pk__in=among(changed)).update(held=held)
            return
        except OperationalError as error:
            if not left or not is_deadlock(error):
                raise


def end_offer(study: Study) -> None:
    """Have the work taken back from the study's platform, as *End the offer* does."""
    platform = posted_on(study)
    if not platform or not Posting.objects.filter(study=study, platform=platform, state__in=OFFERED).exists():
        return
    try:
        with transaction.atomic():
            request_job(study=study, kind=PlatformJob.Kind.END, platform=platform, actor=ACTOR)
    except Refused:
        log.info("%s: its offer is already being ended", study.slug)


def in_json(pair: Look) -> dict[str, Any]:
    figures: Mapping[str, float] = {
        "value": pair.difference.value,
        "low": pair.difference.low,
        "high": pair.difference.high,
        "p": pair.p,
    }
    numbers = {name: None if math.isnan(number) else number for name, number in figures.items()}
    return {"first": pair.first, "second": pair.second, **numbers, "settled": pair.settled}


def tell_owners(stored: StoppingLook) -> bool:
    """Mark the look before the mail goes out, so that it goes out once. If it cannot be sent, the next call tries."""
    now = timezone.now()
    if not StoppingLook.objects.filter(pk=stored.pk, told_at=None).update(told_at=now):
        return False
    study = stored.study
    page = settings.BASE_URL + reverse("report", args=[study.slug])
    rule = study.stopping
    try:
        mailed = mail_owners(
            study,
            subject=f"Stopped early: {study.title}",
            body=(
                f"The study “{study.title}” has stopped with {stored.share:.0%} of the planned submissions, as its "
                f"rule asks. On {rule['criterion']} by {rule['factor']}, {in_words(stored)}.\n\n"
                f"Nobody gets new work, and those who are working can finish. See the results: {page}\n\n"
                "You get this message once because you own the study.\n"
            ),
        )
    except (OSError, SMTPException):
        log.exception("The owners of %s could not be mailed that it stopped; trying again in a minute", study.slug)
        StoppingLook.objects.filter(pk=stored.pk, told_at=now).update(told_at=None)
        return False
    record(study=study, actor=ACTOR, action="stopped early", share=round(stored.share, 4), owners_mailed=mailed)
    return True


def in_words(stored: StoppingLook) -> str:
    count, settled = len(stored.differences), sum(pair["settled"] != "" for pair in stored.differences)
    if settled == count:
        return "the difference is settled" if count == 1 else f"all {count:,} differences are settled"
    verb = "is" if settled == 1 else "are"
    return f"{settled:,} of {counted(count, 'difference')} {verb} settled, and the ratings for the others are all in"
