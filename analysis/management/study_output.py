"""What ``manage.py study`` prints: differences, progress, problems. Text in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django import forms

from annotation.forms import accepts
from annotation.models import Study
from annotation.platforms import link
from annotation.queries.progress import Progress
from annotation.services.applying import Applied, Difference
from annotation.services.refusals import FieldProblem
from annotation.study_files import REQUIRED, FileRefused
from annotation.tables import TableProblems

BRIEF = 70


def brief(value: Any) -> str:
    """A value on one line, as a study file would write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = " ".join(str(value).split())
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


def difference_line(difference: Difference, *, created: bool) -> str:
    name, old, new = difference.field, difference.old, difference.new
    if created or old is None:
        return f"  + {name}: {brief(new)}"
    if new is None and name.startswith(("config.", "texts.")):
        return f"  - {name}: {brief(old)}"
    if name == "items":
        return f"  ~ items: {old:,} replaced by {new:,}"
    if isinstance(old, str) and isinstance(new, str) and brief(old) == brief(new):
        return f"  ~ {name}: changed beyond its first {BRIEF} characters ({len(old):,} → {len(new):,})"
    return f"  ~ {name}: {brief(old)} → {brief(new)}"


def applied_lines(slug: str, applied: Applied, *, dry_run: bool) -> Iterator[str]:
    if not applied.differences:
        yield f"{slug}: nothing to change."
        return
    verb = "create" if applied.created else "change"
    yield f"{slug}: would {verb}" if dry_run else f"{slug}: {verb}d"
    for difference in applied.differences:
        if applied.created and difference.new == "":
            continue
        yield difference_line(difference, created=applied.created)
    if dry_run:
        yield "Nothing was written."


def next_steps(study: Study) -> Iterator[str]:
    """What can be done with the study now."""
    steps = {
        "preview": f"{link.study_url(study)}preview/",
        "go live": f"manage.py study publish {study.slug}",
        "study link": link.study_url(study),
        "progress": f"manage.py study status {study.slug}",
        "report": f"manage.py study report {study.slug}",
        "data": f"manage.py study export {study.slug}",
    }
    wanted = (
        ("preview", "go live") if study.status == Study.Status.DRAFT else ("study link", "progress", "report", "data")
    )
    if study.status == Study.Status.DRAFT and not study.items.exists():
        yield "Next: give the study items (the key “items” of the study file), then apply the file again."
        return
    yield "Next:"
    for name in wanted:
        yield f"  {name:<10}  {steps[name]}"


def key_lines(fields: Mapping[str, forms.Field], defaults: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Keys of a study file with what each takes, its default and what it means."""
    for name, field in fields.items():
        default = "" if name in REQUIRED else f" Default: {brief(defaults.get(name)) or 'empty'}."
        told = f" {field.help_text}" if field.help_text else ""
        yield f"{indent}{name}: {accepts(field)}.{default}"
        yield f"{indent}    {field.label or name.replace('_', ' ').capitalize()}.{told}"


def problem_lines(problems: Iterable[FieldProblem], refused: FileRefused | None = None) -> Iterator[str]:
    for problem in problems:
        line = refused.line(problem) if refused else None
        where = f"line {line}, {problem.field}" if line else problem.field
        yield f"  {where}: {problem.what} {problem.mend}".rstrip()


def table_problem_lines(refused: TableProblems) -> Iterator[str]:
    """Row, column, what and how to mend, in columns as wide as they need be."""
    rows = [(str(p.row) if p.row else "file", p.column or "–", p.what, p.mend) for p in refused.shown]
    yield from aligned([("row", "column", "what is wrong", "how to mend it"), *rows], most=(8, 20, 90, 400))
    if refused.n_hidden:
        yield f"  … and {refused.n_hidden:,} more."


def aligned(rows: Sequence[Sequence[str]], *, most: Sequence[int]) -> Iterator[str]:
    widths = [min(limit, max(len(row[at]) for row in rows)) for at, limit in enumerate(most)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield ("  " + "  ".join(cells)).rstrip()


def study_lines(studies: Iterable[Study]) -> Iterator[str]:
    """One line for each study."""
    rows = [(study.slug, study.get_status_display().lower(), study.task_type, study.title) for study in studies]
    yield from aligned(rows, most=(60, 10, 20, 200)) if rows else ["There are no studies yet."]


def status_lines(study: Study, task_title: str, found: Progress) -> Iterator[str]:
    since = study.closed_at or study.live_at
    when = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
    yield f"{study.slug}: {study.title} ({task_title})"
    synthetic = f", {found.submitted_synthetic:,} simulated" if found.submitted_synthetic else ""
    workers = f", {found.workers_synthetic:,} simulated" if found.workers_synthetic else ""
    flags = f" ({', '.join(f'{name} {count}' for name, count in found.flags.items())})" if found.flags else ""
    median = f"{found.median_seconds:.0f} s" if found.median_seconds is not None else "–"
    rows = {
        "status": f"{study.get_status_display().lower()}{when}",
        "submissions": f"{found.submitted:,} of {found.wanted:,} ({found.share:.0%}){synthetic}",
        "ratings": f"{found.ratings_done:,} of {found.ratings_wanted:,}",
        "items done": f"{found.items_done:,} of {found.items:,}",
        "workers": f"{found.workers:,}{workers}",
        "working now": f"{found.in_progress:,}",
        "given back": f"{found.returned:,} returned, {found.abandoned:,} timed out",
        "time": f"{median} per hit (median)",
        "flagged": f"{found.flagged:,}{flags}",
        "excluded": f"{found.excluded:,}",
    }
    for name, text in rows.items():
        yield f"  {name:<12}{text}"
