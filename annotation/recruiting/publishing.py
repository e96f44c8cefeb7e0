"""Offers a live study on a platform: plans its postings, then posts them one by one.

Publishing again continues where it stopped. It posts what is missing and nothing twice: see ``platform_calls``. If the
platform refuses a study that nobody has seen, it becomes a draft again: what was refused (a reward, a time, a filter)
would otherwise stay locked, because the launch locks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.models import Hit, HitItem, Participant, PlatformCall, Posting, Study
from annotation.platforms.base import Platform, posting_url
from annotation.platforms.calls import NOT_MADE, Json, PlatformTrouble
from annotation.platforms.costs import Cost, Offered
from annotation.platforms.paying_accounts import payer_problems, people_called
from annotation.recruiting import qualifications, spending_guard
from annotation.recruiting.platform_calls import make_all
from annotation.studies.checking import platform_settings
from annotation.studies.suggesters import release_for
from annotation.task_types.registry import get_type
from annotation.work.confirmation import platforms_of
from common.problems import Problem, refuse_if_any

BATCH = 1_000
BACK = "Nothing was posted, and the study is a draft again: change what was refused, then publish it again."
State = Posting.State


@dataclass(frozen=True, slots=True)
class Posted:
    """The progress of publishing: how many postings the platform has, of how many in total."""

    posted: int
    total: int


def offered_hits(study: Study) -> list[Offered]:
    """The study's hits, grouped by reward and number of submissions wanted."""
    rows = Hit.objects.filter(study=study).order_by().values_list("reward", "wanted").annotate(n=Count("pk"))
    return [Offered(n_hits, reward, places) for reward, places, n_hits in rows.order_by("reward", "wanted")]


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
    with transaction.atomic():
        now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        settings = settings_of(now, platform)
        problems = []
        if now.status != Study.Status.LIVE:
            problems.append(Problem("status", "The study is not live.", "Launch it first."))
        if get_type(now.task_type).for_members:
            what = "Members of the study do this work, so it cannot be offered to workers."
            problems.append(Problem("platform", what, "Members start in the console, under Coding."))
        if others := [name for name in platforms_of(now) if name != platform.name]:
            what = f"The study is already offered on {others[0]}."
            problems.append(Problem("platform", what, "Duplicate the study to offer it on another platform too."))
        posted = Posting.objects.filter(study=study, platform=platform.name).exclude(state=State.PLANNED)
        if platform.has_accounts and not posted.exists():  # once the study is posted, its account pays for it
            problems += payer_problems(platform.account, next(iter(people_called([actor])), None))
        refuse_if_any([*problems, *platform.problems(now, settings, offered_hits(now))])
        planned = platform.plan(now, settings)
        for posting in planned:
            posting.state = State.PLANNED
        Posting.objects.bulk_create(planned, batch_size=BATCH)
        costs = spending_guard.posting_costs(now, platform, planned)
        spending_guard.set_aside(study=now, platform=platform, costs=costs)
        if planned:
            record(study=now, actor=actor, action="plan postings", platform=platform.name, postings=len(planned))
    return len(planned)


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
    yield from qualifications.calls_ahead(study, platform)
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
    qualifications.prepare(study=study, platform=platform)
    before = progress(study, platform)
    for done, posting in enumerate(_to_post(study, platform), start=before.posted + 1):
        _post(posting, settings, platform)
        step(done)
    return progress(study, platform)


def _to_post(study: Study, platform: Platform) -> Iterator[Posting]:
    planned: QuerySet[Posting] = Posting.objects.filter(study=study, platform=platform.name, state=State.PLANNED)
    return planned.select_related("hit", "study").order_by("pk").iterator(BATCH)


def _post(posting: Posting, settings: Json, platform: Platform) -> None:
    def note(results: Sequence[Json]) -> None:
        values = platform.posted(posting, settings, results)
        defaults = {"url": posting_url(posting), "posted_at": timezone.now()}
        planned = Posting.objects.filter(pk=posting.pk, state=State.PLANNED)
        planned.update(state=State.OPEN, offered=posting.wanted, **defaults | values)

    make_all(platform.publish(posting, settings), platform, study=posting.study, posting=posting, done=note)


# --- the first time ---


def post_all_or_take_back(
    *, study: Study, platform: Platform, actor: str, step: Callable[[int], None] = lambda done: None
) -> Posted:
    """`post_all`. If the platform refuses the first posting, the launch is taken back. Raises PlatformTrouble."""
    try:
        return post_all(study=study, platform=platform, step=step)
    except PlatformTrouble as trouble:
        if not trouble.again and take_back_launch(study=study, platform=platform, actor=actor):
            trouble.fix = f"{trouble.fix} {BACK}".strip()
            trouble.args = (f"{trouble.what} {trouble.fix}",)
        raise


def take_back_launch(*, study: Study, platform: Platform, actor: str) -> bool:
    """Make a live study a draft again. False, and nothing changes, if workers may have seen it anywhere."""
    for posting in Posting.objects.filter(study=study, platform=platform.name):
        if not _was_seen(study):
            platform.discard(posting)
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.status not in (Study.Status.LIVE, Study.Status.PAUSED) or _was_seen(locked):
            return False
        Posting.objects.filter(study=locked).delete()
        HitItem.objects.filter(hit__study=locked).delete()
        Hit.objects.filter(study=locked).delete()
        locked.arms.filter(name="").delete()
        locked.status, locked.live_at = Study.Status.DRAFT, None
        locked.save(update_fields=["status", "live_at"])
        release_for(locked)
        spending_guard.forget_launch(locked)
        record(study=locked, actor=actor, action="take back the launch", platform=platform.name)
    study.refresh_from_db()
    return True


def _was_seen(study: Study) -> bool:
    """Whether a worker may have seen the study: it was offered somewhere, or a call may have offered it."""
    offered = Posting.objects.filter(study=study).exclude(state=Posting.State.PLANNED).exists()
    unknown = PlatformCall.objects.filter(study=study, first_tried_at__isnull=False)
    unanswered = unknown.exclude(state=PlatformCall.State.DONE).exists()
    return offered or unanswered or Participant.objects.filter(study=study).exists()
