"""The actions of ``manage.py study`` that use a platform: publish, sync, approve, end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from annotation.models import Posting, Study
from annotation.platforms.costs import MTURK, Cost, Fees
from annotation.platforms.mturk.api import Account, Mturk
from annotation.platforms.mturk.config import MturkConfig, MturkForm
from annotation.queries import platforms as queries
from annotation.services import deciding, publishing, syncing
from annotation.services.checking import check_settings
from common.commands import progress_bar
from common.problems import refuse_if_any
from common.words import counted, money


def config_from(options: Sequence[tuple[str, str]]) -> MturkConfig:
    """The settings of a posting from NAME=VALUE pairs. Raises Invalid."""
    found, problems = check_settings(form=MturkForm, given=dict(options), prefix="")
    refuse_if_any(problems)
    return MturkConfig(**found)


def fees_of(endpoint: str) -> Fees:
    """Amazon's fees, or those of this server's own marketplace, which rounds each fee."""
    if not endpoint.startswith(f"{settings.BASE_URL}/marketplace/"):
        return MTURK
    few, many, masters = (
        Decimal(percent) / 100
        for percent in (
            settings.MARKETPLACE_FEE_PERCENT,
            settings.MARKETPLACE_FEE_PERCENT_MANY,
            settings.MARKETPLACE_FEE_PERCENT_MASTERS,
        )
    )
    return Fees(few, many, masters, Decimal("0.01") if few or many else Decimal(0), each_rounded=True)


def cost_lines(study: Study, config: MturkConfig) -> Iterator[str]:
    fees = fees_of(settings.MTURK_ENDPOINT)
    cost = publishing.cost(study, config, fees=fees)
    yield f"Endpoint: {settings.MTURK_ENDPOINT}"
    yield _cost_line(cost)
    if config.split:
        whole = publishing.cost(study, MturkConfig(split=False), fees=fees)
        if whole.total > cost.total:
            yield f"Offered in HITs of at most 9, which saves {money(whole.total - cost.total)}."


def _cost_line(cost: Cost) -> str:
    return (
        f"{counted(cost.hits, 'HIT')}, {counted(cost.assignments, 'assignment')}: {money(cost.rewards)} in rewards "
        f"and {money(cost.fees)} in fees, {money(cost.total)} in total."
    )


def publish_on_mturk(study: Study, config: MturkConfig, *, actor: str, progress: bool) -> Iterator[str]:
    api = Mturk.of(Account.from_settings())
    yield from cost_lines(study, config)
    publishing.plan_postings(study=study, config=config, actor=actor)
    total = publishing.progress(study).total
    with progress_bar(progress, "HITs", total=total) as step:
        done = publishing.post_all(study=study, config=config, api=api, step=step)
    yield f"{study.slug}: the platform has {done.posted:,} of {counted(done.total, 'HIT')}."


def dry_run_lines(study: Study, config: MturkConfig) -> Iterator[str]:
    """All calls that publishing would make, and its cost."""
    publishing.plan_postings(study=study, config=config, actor="dry run")
    counts: Counter[str] = Counter()
    for operation, params in publishing.calls_ahead(study, config):
        counts[operation] += 1
        yield f"{operation} {json.dumps(params, ensure_ascii=False)}"
    yield from cost_lines(study, config)
    calls = ", ".join(f"{counted(count, 'time')} {name}" for name, count in counts.items())
    yield f"Nothing was posted. Publishing would call: {calls or 'nothing'}."


def sync_lines(study: Study, *, progress: bool) -> Iterator[str]:
    _need_postings(study)
    api = Mturk.of(Account.from_settings())
    with progress_bar(progress, "HITs") as step:
        found = syncing.sync_study(study=study, api=api, step=step)
    there = counted(found.assignments, "assignment")
    yield f"{counted(found.postings, 'HIT')} asked for, {there} there, {found.changed:,} new or changed."
    if found.deleted:
        yield f"{counted(found.deleted, 'HIT')} no longer on the platform: deleted there by somebody else."
    yield from difference_lines(study)


def difference_lines(study: Study) -> Iterator[str]:
    """What exists on one side only, and what to do about it."""
    found = queries.differences(study)
    for ours in found.here_only:
        yield f"  Here only: assignment {ours.platform_assignment_id} was sent here and not (yet) on the platform."
    for theirs in found.there_only:
        yield f"  There only: assignment {theirs.external_id} was sent on the platform and nothing arrived here."
    for ours, theirs in found.other_worker:
        yield (
            f"  Other worker: assignment {theirs.external_id} belongs to {theirs.worker_id} on the platform; "
            f"{ours.participant.pseudonym} sent it here. It is left out of analysis and payment."
        )
    if out := deciding.still_out(study):
        yield f"{counted(out, 'assignment')} still in progress."


def approve_lines(study: Study, *, actor: str, dry_run: bool) -> Iterator[str]:
    _need_postings(study)
    waiting = list(deciding.to_approve(study).select_related("posting__study", "posting__hit"))
    total = sum((each.posting.hit.reward for each in waiting if each.posting.hit), Decimal(0))
    yield f"{counted(len(waiting), 'assignment')} to approve, {money(total)} in rewards."
    if dry_run or not waiting:
        return
    done = deciding.approve_all(outside=waiting, api=Mturk.of(Account.from_settings()), actor=actor)
    yield f"Approved: {done.count:,}, {money(done.total)}."
    yield from (f"  Refused: {line}" for line in done.refused or ())


def end_lines(study: Study, *, actor: str) -> Iterator[str]:
    api, ended = Mturk.of(Account.from_settings()), 0
    for posting in Posting.objects.filter(study=study, platform=publishing.PLATFORM, state=Posting.State.OPEN):
        deciding.end_posting(posting=posting, api=api, actor=actor)
        ended += 1
    yield f"{counted(ended, 'HIT')} ended."
    if out := deciding.still_out(study):
        yield f"{counted(out, 'assignment')} still in progress: their workers may finish."


def _need_postings(study: Study) -> None:
    if not Posting.objects.filter(study=study, platform=publishing.PLATFORM).exists():
        raise CommandError(
            f"{study.slug} is on no platform. Publish it: manage.py study publish {study.slug} --platform mturk"
        )


def explain(error: Exception) -> Any:
    """What a platform's error means to the person who runs the command; None for another error."""
    from annotation.platforms.mturk.api import PlatformTrouble

    return CommandError(str(error)) if isinstance(error, PlatformTrouble) else None
