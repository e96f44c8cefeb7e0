"""The output of ``manage.py study``: differences, progress, problems. Text in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.urls import reverse

from annotation.models import Invitation, Study
from annotation.platforms import all_platforms, link
from annotation.review.progress import Progress
from annotation.review.quality_findings import Quality
from annotation.studies.applying import Applied, Difference
from annotation.studies.checking import default_config
from annotation.studies.declared_factors import FactorForm
from annotation.studies.spec import default_values
from annotation.studies.staffing import staffing_by_arm, workers_in_words
from annotation.studies.study_files import REQUIRED, FileRefused
from annotation.study_forms import ArmForm, StudyForm, accepts
from annotation.table_files import TableProblems
from annotation.task_types.base import TaskType
from annotation.task_types.registry import get_type
from annotation.work.quality_rules import ExclusionForm, QualityForm, initial_values
from common.cells import protect_cell
from common.commands import MOST_PROBLEMS, aligned
from common.csv_files import csv_text
from common.words import counted, duration, money

BRIEF = 70


def brief(value: Any) -> str:
    """A value on one line, as in a study file."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        value = f"[{', '.join(brief(part) for part in value)}]"
    if isinstance(value, dict):
        value = f"{{{', '.join(f'{name}: {brief(part)}' for name, part in value.items())}}}"
    text = " ".join(str(value).split())
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


# --- apply ---


def difference_line(difference: Difference, *, created: bool) -> str:
    name, old, new = difference.field, difference.old, difference.new
    if created or old is None:
        return f"  + {name}: {brief(new)}"
    if new is None and "." in name:
        return f"  - {name}: {brief(old)}"
    if name == "items":
        return f"  ~ items: {old:,} replaced by {new:,}"
    if isinstance(old, str) and isinstance(new, str) and brief(old) == brief(new):
        return f"  ~ {name}: changed after its first {BRIEF} characters ({len(old):,} → {len(new):,})"
    return f"  ~ {name}: {brief(old)} → {brief(new)}"


def applied_lines(slug: str, applied: Applied, *, dry_run: bool) -> Iterator[str]:
    if not applied.differences:
        yield f"{slug}: nothing to change."
        return
    verb = "create" if applied.created else "change"
    yield f"{slug}: would {verb}" if dry_run else f"{slug}: {verb}d"
    for difference in applied.differences:
        if applied.created and difference.new in ("", []):
            continue
        yield difference_line(difference, created=applied.created)
    if dry_run:
        yield "Nothing was written."


def next_steps(study: Study) -> Iterator[str]:
    """What the user can do with the study now."""
    steps = {
        "preview": f"{link.study_url(study)}preview/",
        "launch": f"manage.py study publish {study.slug}",
        "study link": link.study_url(study),
        "coding": f"{settings.BASE_URL}{reverse('console_coding', args=[study.slug])}",
        "progress": f"manage.py study status {study.slug}",
        "report": f"manage.py study report {study.slug}",
        "data": f"manage.py study export {study.slug}",
    }
    start = "coding" if get_type(study.task_type).for_members else "study link"
    step_names = ("preview", "launch") if study.status == Study.Status.DRAFT else (start, "progress", "report", "data")
    if study.status == Study.Status.DRAFT and not study.items.exists():
        yield "Next: add items to the study (the key “items” of the study file), then apply the file again."
        return
    yield "Next:"
    for name in step_names:
        yield f"  {name:<10}  {steps[name]}"


def problem_lines(refused: FileRefused) -> Iterator[str]:
    """Each problem in a study file with its line."""
    for problem in refused.problems[:MOST_PROBLEMS]:
        line = refused.line(problem)
        yield f"  line {line}, {problem}" if line else f"  {problem}"
    if len(refused.problems) > MOST_PROBLEMS:
        yield f"  … and {len(refused.problems) - MOST_PROBLEMS:,} more."


def table_problem_lines(refused: TableProblems) -> Iterator[str]:
    """The row, column, problem and fix of each problem, in columns as wide as needed."""
    rows = [(str(p.row) if p.row else "file", p.column or "–", p.what, p.fix) for p in refused.shown]
    yield from aligned([("row", "column", "what is wrong", "how to fix it"), *rows], most=(8, 20, 90, 400))
    if refused.n_hidden:
        yield f"  … and {refused.n_hidden:,} more."


# --- keys ---


def all_keys(task: TaskType) -> Iterator[str]:
    """All keys in a study file of this type."""
    yield from key_lines(StudyForm().fields, default_values(task.name), "")
    yield f"task_type: {task.name}"
    yield "exclude_studies: a list of short names. Default: empty."
    yield "    Studies whose participants may not take part in this one."
    yield "items: path of a file with items, relative to the study file"
    yield "items: {from_file: PATH, encoding: …, separator: …, sheet: …, split: …, columns: {NAME: COLUMN, …}}"
    yield "    How to read the file, and its columns that have other names: NAME in the file is the COLUMN of the type."
    if task.takes_outputs:
        kinds = ", ".join(task.takes_outputs)
        yield f"items: {{from_study: NAME, arms: [NAME, …], kind: KIND, follow: true or false}}, of outputs: {kinds}"
        yield "    Texts from another study. arms: only these arms; kind: one of these kinds, by default the first that"
        yield "    fits; follow: also texts that arrive later."
    if task.sample_form is not None:
        yield "items: {from_run: NAME, …}, the samples of a generation run, with:"
        yield from key_lines(task.sample_form.base_fields, initial_values(task.sample_form), "  ")
    if task.adds_file:
        yield "  with_file: path of a file, relative to the study file"
        yield f"    {task.adds_file}: items that join those of the run."
    yield "platforms:"
    for name, platform in all_platforms().items():
        if platform.form.base_fields:
            yield f"  {name}: {platform.title}"
            yield from key_lines(platform.form.base_fields, initial_values(platform.form), "    ")
    for key, form in (("quality_control", QualityForm), ("exclude", ExclusionForm)):
        yield f"{key}:"
        yield from key_lines(form.base_fields, initial_values(form), "  ")
    config = default_config(task)
    yield "config:"
    yield from key_lines(task.config_form.base_fields, config, "  ")
    yield from ["texts:", *(f"  {text.name}: {text.group}, {text.label}" for text in task.texts(config))]
    yield "arms: a list; each entry has"
    yield from key_lines(ArmForm().fields, {}, "  ")
    shared = f", but for {', '.join(task.item_settings)}" if task.item_settings else ""
    yield f"  config: settings as above that differ in this arm{shared}"
    yield "  texts: texts as above that differ in this arm"
    yield "  factors: its level by factor, such as {training: examples, domain: news}"
    yield "factors: what the report compares; for each factor, by its name"
    yield from key_lines(FactorForm.base_fields, {}, "  ")
    yield "  parts: for parts of an item, the column of each part, such as {1: system_1, 2: system_2}"
    if suggested := task.factors(config):
        yield f"    Without factors, this type suggests {', '.join(factor.name for factor in suggested)}."


def key_lines(fields: Mapping[str, forms.Field], defaults: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Keys of a study file with their accepted values, defaults and meanings."""
    for name, field in fields.items():
        default = ""
        if name in defaults and name not in REQUIRED:
            stored = defaults[name]
            default = f" Default: {'empty' if stored in ('', [], (), None) else brief(stored)}."
        help_text = f" {field.help_text}" if field.help_text else ""
        yield f"{indent}{name}: {accepts(field)}.{default}"
        yield f"{indent}    {field.label or name.replace('_', ' ').capitalize()}.{help_text}"


# --- status and links ---


def study_lines(studies: Iterable[Study]) -> Iterator[str]:
    """One line for each study."""
    rows = [(study.slug, study.get_status_display().lower(), study.task_type, study.title) for study in studies]
    yield from aligned(rows, most=(60, 10, 20, 200)) if rows else ["There are no studies yet."]


def status_lines(study: Study, task_title: str, figures: Progress) -> Iterator[str]:
    since = study.closed_at or study.live_at
    when = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
    yield f"{study.slug}: {study.title} ({task_title})"
    synthetic = f", {figures.submitted_synthetic:,} simulated" if figures.submitted_synthetic else ""
    workers = f", {figures.workers_synthetic:,} simulated" if figures.workers_synthetic else ""
    flags = f" ({', '.join(f'{name} {count}' for name, count in figures.flags.items())})" if figures.flags else ""
    median = duration(figures.median_seconds) if figures.median_seconds is not None else "–"
    rows = {
        "status": f"{study.get_status_display().lower()}{when}",
        "submissions": f"{figures.submitted:,} of {figures.wanted:,} ({figures.share:.0%}){synthetic}",
        "items": f"{figures.items_done:,} of {figures.items:,} complete",
        "ratings": str(figures.ratings),
        "workers": f"{figures.workers:,}{workers}",
        "working now": f"{figures.in_progress:,}",
        "not finished": f"{figures.returned:,} returned, {figures.abandoned:,} timed out"
        + (f", {figures.stopped:,} stopped for part pay" if figures.stopped else ""),
        "median time": f"{median} per hit" + (", of simulated workers" if figures.median_simulated else ""),
        "flagged": f"{figures.flagged:,}{flags}",
        "excluded": f"{figures.excluded:,}",
    }
    if figures.extra:
        rows["extra"] = f"{figures.extra:,}, finished late and paid; left out of the analysis unless included"
    for name, text in rows.items():
        yield f"  {name:<14}{text}"
    for pay in figures.pay:
        low = f" (below the minimum of {money(settings.MINIMUM_HOURLY_PAY)})" if pay.low else ""
        name = f"arm {pay.arm}" if pay.arm else "pay per hour"
        by = f"at the median time of {counted(pay.n, 'submission')} by people"
        yield f"  {name:<14}{money(pay.per_hour)} an hour {by}{low}"
    yield f"  {figures.left_out_words}"
    if figures.is_complete:
        yield "  All ratings are in."
    yield from (f"  {sentence}" for sentence in figures.missing)
    for arm in study.arms.exclude(name="").order_by("position"):
        sent_of_wanted = f" of {arm.wanted:,} wanted" if arm.wanted else ""
        reward: Decimal = study.reward if arm.reward is None else arm.reward
        yield f"  arm {arm.name}: {counted(arm.n_enrolled, 'participant')}{sent_of_wanted}, {money(reward)} per hit"


def workers_lines(study: Study) -> list[str]:
    """How many different workers each arm of a live study needs. Empty for studies whose members do the work."""
    if get_type(study.task_type).for_members:
        return []
    return workers_in_words(staffing_by_arm(study), study.hits_per_worker, own_work=get_type(study.task_type).own_work)


def links_csv(invitations: Iterable[Invitation]) -> str:
    rows = [(protect_cell(invitation.name), link.personal_url(invitation)) for invitation in invitations]
    return csv_text([("name", "link"), *rows])


def quality_lines(study: Study, quality: Quality) -> Iterator[str]:
    """What the last check found: flags by rule, new ones in brackets, and what the exclusion rules leave out."""
    new = quality.last.flags if quality.last else {}
    checked = counted(quality.submissions, "submission")
    yield f"{study.slug}: {checked} checked, {counted(sum(new.values()), 'new flag')}."
    for row in quality.rules:
        if row.people or row.simulated:
            simulated = f", of simulated workers: {row.simulated:,}" if row.simulated else ""
            yield f"  {row.label}: {counted(row.people, 'submission')} ({new.get(row.name, 0):,} new){simulated}"
    if quality.exclusions:
        yield f"Exclusion rules: {quality.before:,} before, {quality.after:,} after."
        yield from (f"  {row.words}: {counted(row.submissions, 'submission')}" for row in quality.exclusions)
