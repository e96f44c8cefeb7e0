"""The actions of ``manage.py study`` that use a platform: publish, sync, approve, end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.management.base import CommandError
from django.db import transaction

from annotation.models import PlatformJob, Posting, Study
from annotation.platforms import PlatformTrouble, connect, platform_class
from annotation.platforms.base import Platform
from annotation.platforms.costs import Cost
from annotation.queries import platforms as queries
from annotation.services import deciding, pausing, planning, platform_work, publishing, syncing
from annotation.services.studies import change_study
from annotation.task_types.settings import ListField
from common.commands import progress_bar
from common.words import counted, money


def publish_lines(
    study: Study, name: str, options: Sequence[tuple[str, str]], *, actor: str, dry_run: bool, progress: bool
) -> list[str]:
    """Launch the study and post it on a platform; with ``dry_run``, only show the calls and the cost."""
    offline = platform_class(name).offline()
    with transaction.atomic():
        study = _with_options(study, offline, options, actor)
        planning.publish(study=study, actor=actor, by_link=False)
        if dry_run:
            lines = list(_dry_run_lines(study, offline))
            transaction.set_rollback(True)
            return lines
    return list(_post_lines(study, connect(name), actor=actor, progress=progress))


def _with_options(study: Study, platform: Platform, options: Sequence[tuple[str, str]], actor: str) -> Study:
    """The study with the settings from NAME=VALUE pairs. Raises Invalid, Frozen."""
    if not options:
        return study
    given = {option: _as_given(platform.form.base_fields.get(option), text) for option, text in options}
    settings = study.platforms | {platform.name: study.platforms.get(platform.name, {}) | given}
    return change_study(study=study, platforms=settings, actor=actor)


def _as_given(field: forms.Field | None, text: str) -> Any:
    """What was typed, in the form that the field accepts. In a list, commas separate the entries."""
    if isinstance(field, ListField):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _post_lines(study: Study, platform: Platform, *, actor: str, progress: bool) -> Iterator[str]:
    yield from cost_lines(study, platform)
    publishing.plan_postings(study=study, platform=platform, actor=actor)
    total = publishing.progress(study, platform).total
    with progress_bar(progress, platform.units or f"{platform.unit}s", total=total) as step:
        done = publishing.post_all(study=study, platform=platform, step=step)
    if platform.by_hand:
        yield f"{study.slug} is live. Enter on the site of the panel:"
        yield from _address_lines(study, platform)
    else:
        yield f"{study.slug}: the platform has {done.posted:,} of {platform.count_of(done.total)}."


def _address_lines(study: Study, platform: Platform) -> Iterator[str]:
    """The address for workers, for a platform on whose site a person enters it."""
    settings = publishing.settings_of(study, platform)
    for posting in Posting.objects.filter(study=study, platform=platform.name).order_by("pk"):
        places = f"{counted(posting.wanted or 0, 'submission')}, {money(posting.pays)} each"
        yield f"  {platform.address(posting, settings)}  ({places})"


def cost_lines(study: Study, platform: Platform) -> Iterator[str]:
    if endpoint := platform.endpoint():
        yield f"Endpoint: {endpoint}"
    yield _cost_line(publishing.cost(study, platform), platform)
    yield from publishing.cost_remarks(study, platform)


def _cost_line(cost: Cost, platform: Platform) -> str:
    return (
        f"{platform.count_of(cost.hits)}, {counted(cost.assignments, 'assignment')}: {money(cost.rewards)} in "
        f"rewards and {money(cost.fees)} in fees, {money(cost.total)} in total."
    )


def _dry_run_lines(study: Study, platform: Platform) -> Iterator[str]:
    """All calls that publishing would make, and its cost."""
    publishing.plan_postings(study=study, platform=platform, actor="dry run")
    counts: Counter[str] = Counter()
    for operation, params in publishing.calls_ahead(study, platform):
        counts[operation] += 1
        yield f"{operation} {json.dumps(params, ensure_ascii=False)}"
    yield from cost_lines(study, platform)
    calls = ", ".join(f"{counted(count, 'time')} {name}" for name, count in counts.items())
    yield f"Nothing was posted. Publishing would call: {calls or 'nothing'}."


def sync_lines(study: Study, *, progress: bool) -> Iterator[str]:
    for platform in _platforms_of(study):
        if not platform.confirms:
            claimed = counted(queries.claimed_submissions(study).count(), "submission")
            yield f"{platform.title} cannot confirm who did what: {claimed} counted as the workers' browsers said."
            continue
        with progress_bar(progress, platform.units or f"{platform.unit}s") as step:
            found = syncing.sync_study(study=study, platform=platform, step=step)
        there = counted(found.assignments, "assignment")
        yield (f"{platform.count_of(found.postings)} asked for, {there} there, {found.changed:,} new or changed.")
        if found.deleted:
            gone = platform.count_of(found.deleted)
            why = "deleted there, or the key is another requester's. The next sync looks for them again."
            yield f"{gone} no longer on the platform: {why}"
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
    for platform in _platforms_of(study, connected=not dry_run):
        if not platform.pays:
            yield f"{platform.title} does not pay this work; you do. See: manage.py study payments {study.slug}"
            continue
        waiting = list(deciding.to_approve(study).select_related("posting__study", "posting__hit"))
        total = sum((each.posting.pays for each in waiting), Decimal(0))
        yield f"{counted(len(waiting), 'assignment')} to approve, {money(total)} in rewards."
        if dry_run or not waiting:
            continue
        done = deciding.approve_all(outside=waiting, platform=platform, actor=actor)
        yield f"Approved: {done.count:,}, {money(done.total)}."
        yield from (f"  Refused: {line}" for line in done.refused or ())


def pause_lines(study: Study, *, actor: str) -> Iterator[str]:
    """Pause the study here and on its platform. Raises CommandError if the platform refuses."""
    job = pausing.pause(study=study, actor=actor)
    yield f"{study.slug} is paused. Nobody gets new work; workers can finish the hit they are on."
    yield from _job_lines(job)


def resume_lines(study: Study, *, actor: str) -> Iterator[str]:
    job = pausing.resume(study=study, actor=actor)
    yield f"{study.slug} is live."
    yield from _job_lines(job)


def _job_lines(job: PlatformJob | None) -> Iterator[str]:
    """Do the job now, unless a worker process is already doing it, and report how it ended."""
    if job is None:
        return
    platform_work.do_job(job.pk)
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
            deciding.end_posting(posting=posting, platform=platform, actor=actor)
        yield f"{platform.count_of(len(postings))} ended."
    if out := deciding.still_out(study):
        yield f"{counted(out, 'assignment')} still in progress: their workers may finish."


def _platforms_of(study: Study, *, connected: bool = True) -> list[Platform]:
    names = queries.platforms_of(study)
    if not names:
        what = f"{study.slug} is on no platform. Publish it: manage.py study publish {study.slug} --platform NAME"
        raise CommandError(what)
    return [connect(name) if connected else platform_class(name).offline() for name in names]


def explain(error: Exception) -> CommandError | None:
    """A platform's error in words for the person who runs the command; None for any other error."""
    return CommandError(str(error)) if isinstance(error, PlatformTrouble) else None
