"""The actions of ``manage.py study`` that use a platform: publish, sync, approve, end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django.conf import settings as django_settings
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from annotation.management.study_output import workers_lines
from annotation.models import PlatformJob, Posting, Study
from annotation.platforms import (
    PlatformTrouble,
    account_of,
    connect,
    connect_account,
    offline,
    platform_class,
)
from annotation.platforms.base import Platform
from annotation.platforms.costs import in_words
from annotation.recruiting import (
    changing_offers,
    compensating,
    deciding_on_platform,
    differences,
    job_actions,
    job_requests,
    offered_work,
    publishing,
    syncing,
)
from annotation.recruiting.publishing import post_all_or_take_back
from annotation.recruiting.spending import set_aside_for, spending_of
from annotation.recruiting.spending_guard import set_budget
from annotation.studies import launching
from annotation.studies.storing import change_study
from annotation.task_types.settings import ListField
from annotation.work import confirmation
from annotation.work.hourly_pay import low_wages
from common.commands import progress_bar
from common.words import counted, money

Ask = Callable[[Decimal], None]


def publish_lines(
    study: Study,
    name: str,
    options: Sequence[tuple[str, str]],
    *,
    actor: str,
    dry_run: bool,
    progress: bool,
    ask: Ask,
) -> Iterator[str]:
    """Launch the study and post it on a platform; with ``dry_run``, only show the calls and the cost.

    ``ask`` gets what it can cost in addition to what was agreed to before. It raises CommandError if that is too much.
    """
    with transaction.atomic():  # who pays, with these options
        payer = account_of(_with_options(Study.objects.get(pk=study.pk), platform_class(name), options, actor), name)
        transaction.set_rollback(True)
    described = platform_class(name).offline(payer)
    platform = described if dry_run else connect_account(name, payer)
    platform.fees()  # may ask the endpoint, which must not wait for a transaction that waits for it
    with transaction.atomic():  # tried out, to know what it costs
        before = set_aside_for(study)
        tried = _with_options(Study.objects.get(pk=study.pk), platform_class(name), options, actor)
        launching.publish(study=tried, actor=actor, by_link=False)
        left_out = launching.left_out_in_words(tried)
        lines = [*left_out, *_dry_run_lines(tried, described)] if dry_run else []
        if not dry_run:
            publishing.plan_postings(study=tried, platform=described, actor=actor)
            lines = [*left_out, *cost_lines(tried, described), *pay_lines(tried), *workers_lines(tried)]
        new = set_aside_for(tried) - before
        offered, settings = publishing.offered_hits(tried), publishing.settings_of(tried, described)
        transaction.set_rollback(True)
    yield from lines
    if dry_run:
        return
    yield from (line for line in platform.remarks(offered, settings) if line not in lines)
    ask(new)
    with transaction.atomic():
        study = _with_options(study, platform_class(name), options, actor)
        launching.publish(study=study, actor=actor, by_link=False)
        publishing.plan_postings(study=study, platform=platform, actor=actor)
    yield from _post_lines(study, platform, actor=actor, progress=progress)


def pay_lines(study: Study) -> Iterator[str]:
    """What workers earn per hour, if it is less than the server's minimum."""
    least = django_settings.MINIMUM_HOURLY_PAY
    for reward, per_hour in low_wages(study):
        yield f"Warning: {money(reward)} pays about {money(per_hour)} an hour, less than the minimum of {money(least)}."


def budget_lines(study: Study, amount: str, *, actor: str) -> Iterator[str]:
    """Show the study's budget, or set it to ``amount`` first."""
    if amount:
        try:
            dollars = Decimal(amount.removeprefix("$"))
        except InvalidOperation:
            raise CommandError(f"“{amount[:20]}” is not an amount. Write USD, such as 25.00.") from None
        set_budget(study=study, amount=dollars, actor=actor)
    spending = spending_of(study)
    if spending.budget is None:
        yield f"{study.slug} has no budget yet. Publishing it on a platform sets one, from what it can cost."
    else:
        yield (
            f"{study.slug}: the budget is {money(spending.budget)}. {money(spending.committed)} is spent or promised, "
            f"{money(spending.left)} is left."
        )
    if spending.month_limit and spending.committed:
        yield f"This month, all studies on its account: {money(spending.this_month)} of {money(spending.month_limit)}."


def _with_options(study: Study, platform: type[Platform], options: Sequence[tuple[str, str]], actor: str) -> Study:
    """The study with the settings from NAME=VALUE pairs. Raises Invalid, Frozen."""
    if not options:
        return study
    values: dict[str, Any] = dict(options)
    for option, text in options:
        if isinstance(platform.form.base_fields.get(option), ListField):
            values[option] = [part.strip() for part in text.split(",") if part.strip()]
    settings = study.platforms | {platform.name: study.platforms.get(platform.name, {}) | values}
    return change_study(study=study, platforms=settings, actor=actor)


def _post_lines(study: Study, platform: Platform, *, actor: str, progress: bool) -> Iterator[str]:
    total = publishing.progress(study, platform).total
    with progress_bar(progress, platform.units or f"{platform.unit}s", total=total, so_far=True) as step:
        done = post_all_or_take_back(study=study, platform=platform, actor=actor, step=step)
    job_actions.subscribe(study, platform)
    if platform.by_hand:
        yield f"{study.slug} is live. Enter on the site of the panel:"
        settings = publishing.settings_of(study, platform)
        for posting in Posting.objects.filter(study=study, platform=platform.name).order_by("pk"):
            places = f"{counted(posting.wanted or 0, 'submission')}, {money(posting.pays)} each"
            yield f"  {platform.address(posting, settings)}  ({places})"
    else:
        yield f"{study.slug}: the platform has {done.posted:,} of {platform.count_of(done.total)}."


def cost_lines(study: Study, platform: Platform) -> Iterator[str]:
    if endpoint := platform.endpoint():
        yield f"Endpoint: {endpoint}"
    if platform.account is not None:
        yield f"Account: {platform.account.title} ({platform.account.slug}), of {platform.account.owner_name}"
    cost = publishing.cost(study, platform)
    yield f"{platform.count_of(cost.hits)}, {counted(cost.assignments, 'assignment')}: {in_words(cost)}"
    yield from publishing.cost_remarks(study, platform)


def _dry_run_lines(study: Study, platform: Platform) -> Iterator[str]:
    """All calls that publishing would make, and its cost."""
    publishing.plan_postings(study=study, platform=platform, actor="dry run")
    counts: Counter[str] = Counter()
    for operation, params in publishing.calls_ahead(study, platform):
        counts[operation] += 1
        yield f"{operation} {json.dumps(params, ensure_ascii=False)}"
    yield from cost_lines(study, platform)
    yield from pay_lines(study)
    yield from workers_lines(study)
    calls = ", ".join(f"{counted(count, 'time')} {name}" for name, count in counts.items())
    yield f"Nothing was posted. Publishing would call: {calls or 'nothing'}."


def sync_lines(study: Study, *, actor: str, progress: bool) -> Iterator[str]:
    """Poll the study's work, or continue a poll that was interrupted. Raises PlatformTrouble."""
    for platform in _platforms_of(study):
        if not platform.confirms:
            claimed = counted(confirmation.claimed_submissions(study).count(), "submission")
            yield f"{platform.title} cannot confirm who did what: {claimed} counted as the workers' browsers said."
            continue
        lock = job_requests.begin_here(study=study, kind=PlatformJob.Kind.POLL, platform=platform.name, actor=actor)
        since = lock.job.asked_at
        if lock.continues:
            yield f"This continues the sync that began at {timezone.localtime(since):%H:%M} and was interrupted."
        with progress_bar(progress, platform.units or f"{platform.unit}s", so_far=True) as step:

            def note(done: int, step: Callable[[int], object] = step, lock: job_requests.Lock = lock) -> None:
                lock.step(done)
                step(done)

            try:
                synced = syncing.sync_study(study=study, platform=platform, since=since, step=note)
            except job_requests.LockLost:
                raise CommandError("Another sync of this study has begun, and continues where this one was.") from None
            except PlatformTrouble as trouble:
                lock.end(PlatformJob.State.FAILED, trouble.what, trouble.fix)
                raise
        yield from _difference_lines(study, platform, actor=actor)
        compensated = compensating.note_paid(study=study, platform=platform)
        objections = syncing.note_objections(platform=platform)
        lock.end(PlatformJob.State.DONE, f"{platform.count_of(synced.postings)} asked for.")
        assignments = counted(synced.assignments, "assignment")
        yield (
            f"{platform.count_of(synced.postings)} asked for, {assignments} there, {synced.changed:,} new or changed."
        )
        if objections:
            yield f"{counted(objections, 'worker objects', 'workers object')} to a rejection: see the submissions."
        if compensated:
            yield f"{counted(compensated, 'compensation')} paid."
        if synced.deleted:
            gone = platform.count_of(synced.deleted)
            why = "deleted there, or the key is another requester's. The next sync looks for them again."
            yield f"{gone} no longer on the platform: {why}"
    yield from difference_lines(study)


def difference_lines(study: Study) -> Iterator[str]:
    """What exists on one side only, and what to do about it."""
    differing = differences.differences(study)
    for assignment in differing.here_only:
        name = assignment.platform_assignment_id
        yield f"  Here only: assignment {name} was sent here and not (yet) on the platform."
    for outside in differing.there_only:
        yield f"  There only: assignment {outside.external_id} was sent on the platform and nothing arrived here."
    for assignment, outside in differing.other_worker:
        yield (
            f"  Other worker: assignment {outside.external_id} belongs to {outside.worker_id} on the platform; "
            f"{assignment.participant.pseudonym} sent it here. It is left out of analysis and payment."
        )
    for outside in differences.partly_paid(study):
        yield (
            f"  Partly paid: assignment {outside.external_id} was paid in part on the platform, which does not report "
            "how much. Its payment is missing in the lists here."
        )
    if out := offered_work.count_in_progress(study):
        yield f"{counted(out, 'assignment')} still in progress."


def approve_lines(study: Study, *, actor: str, dry_run: bool) -> Iterator[str]:
    for platform in _platforms_of(study, connected=not dry_run):
        if not platform.pays:
            yield f"{platform.title} does not pay this work; you do. See: manage.py study payments {study.slug}"
            continue
        waiting = list(deciding_on_platform.to_approve(study).select_related("posting__study", "posting__hit"))
        total = sum((outside.posting.pays for outside in waiting), Decimal(0))
        yield f"{counted(len(waiting), 'assignment')} to approve, {money(total)} in rewards."
        if dry_run:
            continue
        if waiting:
            done = deciding_on_platform.approve_all(outside=waiting, platform=platform, actor=actor)
            yield f"Approved: {done.count:,}, {money(done.total)}."
            if done.waiting:
                yield f"Still being approved there: {counted(done.waiting, 'assignment')}. The next sync records them."
            yield from (f"  Refused: {line}" for line in done.refused or ())
        yield from _difference_lines(study, platform, actor=actor)


def _difference_lines(study: Study, platform: Platform, *, actor: str) -> Iterator[str]:
    """Pay the bonuses of arms that pay more than the one listing, for work that was approved without them."""
    rest = deciding_on_platform.pay_differences(study=study, platform=platform, actor=actor)
    if rest.count:
        yield f"Bonuses of the arms that pay more, for work approved before: {rest.count:,}, {money(rest.total)}."
    yield from (f"  Refused: {line}" for line in rest.refused or ())


def pause_lines(study: Study, *, actor: str) -> Iterator[str]:
    """Pause the study here and on its platform. Raises CommandError if the platform refuses."""
    job = changing_offers.pause_everywhere(study=study, actor=actor)
    yield f"{study.slug} is paused. Nobody gets new work; workers can finish the hit they are on."
    yield from _job_lines(job)


def resume_lines(study: Study, *, actor: str) -> Iterator[str]:
    job = changing_offers.resume_everywhere(study=study, actor=actor)
    yield f"{study.slug} is live."
    yield from _job_lines(job)


def _job_lines(job: PlatformJob | None) -> Iterator[str]:
    """Do the job now, unless a worker process is already doing it, and report how it ended."""
    if job is None:
        return
    job_actions.do_job(job.pk)
    job.refresh_from_db()
    title = platform_class(job.platform).title
    if job.state == PlatformJob.State.FAILED:
        raise CommandError(f"{title}: {job.said} {job.fix}".strip())
    yield f"{title}: {job.said or 'this continues in the background.'}"


def end_lines(study: Study, *, actor: str) -> Iterator[str]:
    offered = (Posting.State.OPEN, Posting.State.PAUSED)
    for platform in _platforms_of(study):
        postings = list(Posting.objects.filter(study=study, platform=platform.name, state__in=offered))
        for posting in postings:
            changing_offers.end_posting(posting=posting, platform=platform, actor=actor)
        yield f"{platform.count_of(len(postings))} ended."
    if out := offered_work.count_in_progress(study):
        yield f"{counted(out, 'assignment')} still in progress: their workers may finish."


def _platforms_of(study: Study, *, connected: bool = True) -> list[Platform]:
    names = confirmation.platforms_of(study)
    if not names:
        what = f"{study.slug} is on no platform. Publish it: manage.py study publish {study.slug} --platform NAME"
        raise CommandError(what)
    return [connect(name, study) if connected else offline(name, study) for name in names]


def explain(error: Exception) -> CommandError | None:
    """A platform's error in words for the person who runs the command; None for any other error."""
    return CommandError(str(error)) if isinstance(error, PlatformTrouble) else None
