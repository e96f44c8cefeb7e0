"""Offers a live study on a platform: plans its postings, then posts them one by one.

Publishing again continues where it stopped. It posts what is missing and nothing twice: see ``platform_calls``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from annotation.models import Hit, Posting, Study
from annotation.platforms.base import NOT_MADE, Json, Platform, posting_url
from annotation.platforms.costs import Cost, Offered
from annotation.queries.platforms import platforms_of
from annotation.services import qualifying, spending
from annotation.services.audit import record
from annotation.services.checking import platform_settings
from annotation.services.platform_calls import make_all
from annotation.task_types.registry import get_type
from common.problems import Problem, refuse_if_any

BATCH = 1_000
State = Posting.State


@dataclass(frozen=True, slots=True)
class Posted:
    """The progress of publishing: how many postings the platform has, of how many in total."""

    posted: int
    total: int


def offered_hits(study: Study) -> list[Offered]:
    """The study's hits, grouped by reward and number of submissions wanted."""
    rows = Hit.objects.filter(study=study).order_by().values_list("reward", "wanted").annotate(n=Count("pk"))
    return [Offered(n, reward, wanted) for reward, wanted, n in rows.order_by("reward", "wanted")]


def settings_of(study: Study, platform: Platform | type[Platform]) -> Json:
    """The study's settings for the platform, with defaults for those that it does not set."""
    return platform_settings(platform.name, platform.form, study.platforms.get(platform.name, {}))


def cost(study: Study, platform: Platform) -> Cost:
    """What the study costs on the platform if every submission is approved."""
    return platform.cost(offered_hits(study), settings_of(study, platform))


def cost_remarks(study: Study, platform: Platform) -> list[str]:
    """Sentences that help to judge the study's cost on the platform."""
    return platform.remarks(offered_hits(study), settings_of(study, platform))


def plan_postings(*, study: Study, platform: Platform, actor: str) -> int:
    """Record everything to post, and set the money for it aside. Returns how many postings are new. Raises Invalid.

    The study must be live, so that its hits are planned. Hits that already have postings get no more.
    """
    platform.fees()  # may ask the endpoint, which must not wait for the transaction that waits for it
    return _plan_postings(study=study, platform=platform, actor=actor)


@transaction.atomic
def _plan_postings(*, study: Study, platform: Platform, actor: str) -> int:
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    settings = settings_of(now, platform)
    problems = [*_problems(now, platform), *platform.problems(now, settings, offered_hits(now))]
    refuse_if_any(problems)
    planned = platform.plan(now, settings)
    for posting in planned:
        posting.state = State.PLANNED
    Posting.objects.bulk_create(planned, batch_size=BATCH)
    spending.set_aside(study=now, platform=platform, costs=spending.posting_costs(now, platform, planned))
    if planned:
        record(study=now, actor=actor, action="plan postings", platform=platform.name, postings=len(planned))
    return len(planned)


def _problems(study: Study, platform: Platform) -> list[Problem]:
    problems = []
    if study.status != Study.Status.LIVE:
        problems.append(Problem("status", "The study is not live.", "Launch it first."))
    if get_type(study.task_type).for_members:
        what = "Members of the study do this work, so it cannot be offered to workers."
        problems.append(Problem("platform", what, "Members start in the console, under Coding."))
    if others := [name for name in platforms_of(study) if name != platform.name]:
        what = f"The study is already offered on {others[0]}."
        problems.append(Problem("platform", what, "Duplicate the study to offer it on another platform too."))
    return problems


def progress(study: Study, platform: Platform | type[Platform]) -> Posted:
    """How many of the study's postings the platform has."""
    postings = Posting.objects.filter(study=study, platform=platform.name)
    return Posted(postings.exclude(state=State.PLANNED).count(), postings.count())


class _Unknown(dict[str, Any]):
    """The result of a call that has not been made."""

    def __missing__(self, name: str) -> str:
        return NOT_MADE


def calls_ahead(study: Study, platform: Platform) -> Iterator[tuple[str, Json]]:
    """Every call that publishing would make now: operation and parameters. Used for a dry run."""
    yield from qualifying.calls_ahead(study, platform)
    settings, seen = settings_of(study, platform), set[str]()
    for posting in _to_post(study, platform):
        unknown: list[Json] = []
        for call in platform.publish(posting, settings):
            if call.key not in seen:
                yield call.operation, call.params(unknown)
            seen.add(call.key)
            unknown.append(_Unknown())


def post_all(*, study: Study, platform: Platform, step: Callable[[int], None] = lambda done: None) -> Posted:
    """Post everything planned that the platform does not have yet. Raises PlatformTrouble if it refuses something.

    ``step`` gets the number of postings so far.
    """
    settings = settings_of(study, platform)
    qualifying.prepare(study=study, platform=platform)
    found = progress(study, platform)
    for done, posting in enumerate(_to_post(study, platform), start=found.posted + 1):
        _post(posting, settings, platform)
        step(done)
    return progress(study, platform)


def _to_post(study: Study, platform: Platform) -> Iterator[Posting]:
    planned: QuerySet[Posting] = Posting.objects.filter(study=study, platform=platform.name, state=State.PLANNED)
    return planned.select_related("hit", "study").order_by("pk").iterator(BATCH)


def _post(posting: Posting, settings: Json, platform: Platform) -> None:
    note = partial(_note_posted, posting, settings, platform)
    make_all(platform.publish(posting, settings), platform, study=posting.study, posting=posting, done=note)


def _note_posted(posting: Posting, settings: Json, platform: Platform, results: Sequence[Json]) -> None:
    values = {"url": posting_url(posting), "posted_at": timezone.now(), **platform.posted(posting, settings, results)}
    offered = {"state": State.OPEN, "offered": posting.wanted}
    Posting.objects.filter(pk=posting.pk, state=State.PLANNED).update(**offered, **values)
