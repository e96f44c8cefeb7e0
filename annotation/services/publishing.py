"""Offers a live study's hits on MTurk: plans them as postings, then posts them one by one.

Publishing again continues where it stopped. It posts what is missing and nothing twice: see ``platform_calls``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone

from annotation.models import Hit, PlatformCall, Posting, Study
from annotation.platforms.costs import Cost, Fees, Offered, cost_of, parts_of, reward_problems
from annotation.platforms.mturk.api import Mturk
from annotation.platforms.mturk.config import MturkConfig
from annotation.services.audit import record
from annotation.services.platform_calls import intend, make
from annotation.tokens import posting_token
from common.problems import Problem, refuse_if_any

PLATFORM = "mturk"
BATCH = 1_000
State = Posting.State


@dataclass(frozen=True, slots=True)
class Posted:
    """The progress of publishing: how many HITs the platform has, of how many in total."""

    posted: int
    total: int


def offered_hits(study: Study) -> list[Offered]:
    """The study's hits, grouped by reward and number of submissions wanted."""
    rows = Hit.objects.filter(study=study).order_by().values_list("reward", "wanted").annotate(n=Count("pk"))
    return [Offered(n, reward, wanted) for reward, wanted, n in rows.order_by("reward", "wanted")]


def cost(study: Study, config: MturkConfig, *, fees: Fees) -> Cost:
    return cost_of(offered_hits(study), fees=fees, split=config.split, masters=config.masters)


@transaction.atomic
def plan_postings(*, study: Study, config: MturkConfig, actor: str) -> int:
    """Record every HIT to post. Returns how many are new. Raises Invalid.

    The study is live, so its hits are planned. A hit that already has postings gets no more.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    problems = reward_problems(sorted({each.reward for each in offered_hits(now)}))
    if now.status != Study.Status.LIVE:
        problems.append(Problem("status", "The study is not live.", "Launch it first."))
    if now.hits.filter(reward__lte=0).exists():
        problems.append(Problem("reward", "A hit pays nothing.", "MTurk needs a reward of at least $0.01."))
    refuse_if_any(problems)
    without = now.hits.exclude(postings__platform=PLATFORM).order_by("position")
    planned = [
        Posting(study=now, hit=hit, platform=PLATFORM, part=part, wanted=wanted, state=State.PLANNED)
        for hit in without
        for part, wanted in enumerate(parts_of(hit.wanted, split=config.split))
    ]
    Posting.objects.bulk_create(planned, batch_size=BATCH)
    if planned:
        record(study=now, actor=actor, action="plan postings", platform=PLATFORM, hits=len(planned))
    return len(planned)


def progress(study: Study) -> Posted:
    postings = Posting.objects.filter(study=study, platform=PLATFORM)
    return Posted(postings.exclude(state=State.PLANNED).count(), postings.count())


def calls_ahead(study: Study, config: MturkConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every call that publishing would make now: operation and parameters. Used for a dry run."""
    for reward in _rewards(study):
        yield "create_hit_type", config.hit_type(study, reward)
    for posting in _to_post(study):
        yield "create_hit_with_hit_type", _hit_params(posting, config, "…")


def post_all(
    *, study: Study, config: MturkConfig, api: Mturk, step: Callable[[int], None] = lambda done: None
) -> Posted:
    """Post every planned HIT that the platform does not have yet. Raises PlatformTrouble if it refuses one.

    ``step`` gets the number of HITs posted so far.
    """
    types = {reward: _hit_type(study, config, api, reward) for reward in _rewards(study)}
    found = progress(study)
    for done, posting in enumerate(_to_post(study), start=found.posted + 1):
        assert posting.hit is not None  # noqa: S101 - planned so
        _post(posting, config, api, types[posting.hit.reward])
        step(done)
    return progress(study)


def _rewards(study: Study) -> list[Decimal]:
    return sorted({each.reward for each in offered_hits(study)})


def _to_post(study: Study) -> Iterator[Posting]:
    planned = Posting.objects.filter(study=study, platform=PLATFORM, state=State.PLANNED).select_related("hit", "study")
    return planned.order_by("hit__position", "part").iterator(BATCH)


def _hit_type(study: Study, config: MturkConfig, api: Mturk, reward: Decimal) -> str:
    """The HIT type for a reward, so arms with different rewards differ. The platform reuses identical types."""
    params = config.hit_type(study, reward)
    call = intend(study=study, key=f"hit-type/{study.pk}/{reward}", operation="create_hit_type", params=params)
    return str(make(call, api, with_token=False)["HITTypeId"])


def posting_url(posting: Posting) -> str:
    """The address that the platform shows in a frame. The platform adds who the worker is."""
    return f"{settings.BASE_URL}{reverse('platform_arrival', args=[posting_token(posting.pk)])}"


def annotation_of(posting: Posting) -> str:
    """A text that finds the HIT again in the platform's list. It is unique to this server and posting."""
    return f"hitserver:{posting_token(posting.pk)}"


def _hit_params(posting: Posting, config: MturkConfig, hit_type_id: str) -> dict[str, Any]:
    return config.hit(
        hit_type_id=hit_type_id,
        url=posting_url(posting),
        wanted=posting.wanted or 1,
        annotation=annotation_of(posting),
    )


def _post(posting: Posting, config: MturkConfig, api: Mturk, hit_type_id: str) -> None:
    params = _hit_params(posting, config, hit_type_id)
    call = intend(
        study=posting.study,
        posting=posting,
        key=f"hit/{posting.pk}",
        operation="create_hit_with_hit_type",
        params=params,
    )
    make(call, api, search=_find_hit, done=partial(_note_posted, posting, config))


def _note_posted(posting: Posting, config: MturkConfig, result: dict[str, Any]) -> None:
    now = timezone.now()
    Posting.objects.filter(pk=posting.pk).update(
        state=State.OPEN,
        external_id=result["HITId"],
        group_id=result.get("HITGroupId", ""),
        url=posting_url(posting),
        posted_at=now,
        expires_at=now + timedelta(days=config.lifetime_days),
    )


def _find_hit(api: Mturk, call: PlatformCall) -> dict[str, Any] | None:
    """The HIT that an earlier try created, found by its annotation."""
    for hit in api.pages("list_hits", "HITs"):
        if hit.get("RequesterAnnotation") == call.params["RequesterAnnotation"]:
            return {name: hit[name] for name in ("HITId", "HITTypeId", "HITGroupId") if name in hit}
    return None
