"""Build a report: which sections it has, its page and its numbers."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from analysis.data import StudyData
from analysis.report.blocks import Note, Section, Sentences
from analysis.report.failures import log_errors, make_or_show_error
from analysis.report.files import PAGE, VERSION, write_files
from analysis.report.page import render_page
from analysis.report.sections import (
    answers,
    arms,
    collected,
    design,
    exclusions,
    findings,
    questionnaires,
    right_answers,
    stopped,
    texts,
    times,
    wording,
    workers,
)
from analysis.report.source import Source
from common.left_out import left_out_in_words
from common.words import counted


class Makers(UserDict[str, Callable[..., "Section | None"]]):
    """Makers of sections by the name of a `ReportSection`, each in a module of its own. Importing all of them takes as
    long as a small report, so a module is imported when somebody asks for its maker."""

    def __init__(self, **modules: str) -> None:
        super().__init__(dict.fromkeys(modules, lambda source: None))
        self._modules = modules

    def __getitem__(self, name: str) -> Callable[..., Section | None]:
        if module := self._modules.pop(name, ""):
            self[name] = maker_in(module)
        return super().__getitem__(name)


def maker_in(module: str) -> Callable[..., Section | None]:
    make: Callable[..., Section | None] = import_module(f"analysis.report.sections.{module}").make_section
    return make


#: Sections that a task type can declare. Parameters are passed by name.
SECTIONS = Makers(
    diversity="diversity",
    scales="scales",
    preference="preference",
    productions="productions",
    choices="choices",
    edits="edits",
    story_texts="story_texts",
    waiting="waiting",
    arm_tests="arm_tests",
    origin_tests="origin_tests",
    variability="variability",
    systems="systems",
    human_or_machine="detection",
    coding="coding",
    item_scores="item_scores",
    spans="spans",
    conversations="conversations",
    arena="arena",
)
#: The section that answers first.
FINDINGS, FINDINGS_TITLE = "findings", "What the study found"
JUDGES_TITLE = "People beside judges"
#: Key, title and maker of a section. The title is for its place if it fails.
Maker = tuple[str, str, Callable[[Source], Section | None]]


def write(
    data: StudyData,
    *,
    out_dir: Path,
    draws: int,
    seed: int,
    made_at: datetime | None,
    stops: tuple[type[Exception], ...] = (),
) -> Path:
    """See `analysis.report.write_report`."""
    source = source_of(data, draws, seed, stops)
    sections, made_at = make_sections(source), made_at or datetime.now(UTC)
    numbers = head_of(source, made_at) | {"sections": {section.key: section.members for section in sections}}
    write_files(out_dir, page=as_page(source, sections, made_at), numbers=numbers)
    return out_dir / PAGE


def numbers_of(data: StudyData, *, draws: int, seed: int, made_at: datetime | None) -> dict[str, Any]:
    """See `analysis.report.report_numbers`."""
    source = source_of(data, draws, seed)
    return as_json(source, make_sections(source), made_at or datetime.now(UTC))


def source_of(data: StudyData, draws: int, seed: int, stops: tuple[type[Exception], ...] = ()) -> Source:
    if draws < 1:
        raise ValueError("a report's intervals need at least one draw")
    return Source(data, draws, seed, stops)


def make_sections(source: Source) -> list[Section]:
    """Findings, the sections that the type declares and the answers, what exclusion rules change, then how the study
    was made.

    A section that fails shows its error in its place, and the error is logged.
    """
    arm_makers: list[Maker] = [("arms", "Arms", arms.make_section)] if source.description.has_arms else []
    judged = len(source.data.judges) > 0
    after: list[Maker] = [
        *([("judges", JUDGES_TITLE, maker_in("judges"))] if judged else []),
        *arm_makers,
        ("design", "What was asked", design.make_section),
        ("data", "Data", collected.make_section),
        ("stopped", "Stopped early", stopped.make_section),
        ("questionnaires", "Who took part", questionnaires.make_section),
        ("right_answers", "Right answers", right_answers.make_section),
        ("workers", "Workers", workers.make_section),
        ("time", "Time", times.make_section),
        ("texts", "Texts by workers", texts.make_section),
        ("wording", "What workers read", wording.make_section),
    ]
    first = make_each(source, [(FINDINGS, FINDINGS_TITLE, findings.make_section)])
    results = make_results(source)
    make_exclusions = partial(exclusions.make_section, with_rules=results, make_results=make_results)
    rules = make_each(source, [("exclusions", "Exclusion rules", make_exclusions)])
    sections = answers_first([*first, *results, *rules, *make_each(source, after)])
    log_errors(sections, source.description.slug)
    return sections


def answers_first(sections: list[Section]) -> list[Section]:
    """The same sections with what each of them found in the first one, which is made if it does not exist."""
    rows = [answer for section in sections for answer in section.answers]
    if not rows:
        return sections
    if sections[0].key != FINDINGS:
        sections = [Section(FINDINGS, FINDINGS_TITLE), *sections]
    first = sections[0]
    rows = [row for block in first.blocks if isinstance(block, Sentences) for row in block.rows] + rows
    first.blocks = [Sentences(rows), *(block for block in first.blocks if not isinstance(block, Sentences))]
    first.data["sentences"] = [{"criterion": criterion, "sentence": sentence} for criterion, sentence in rows]
    return sections


def make_results(source: Source) -> list[Section]:
    """The sections with the study's results: those that the type declares, and the answers to each question."""
    makers: list[Maker] = [
        (
            section.name,
            section.name.replace("_", " ").capitalize(),
            partial(make_declared, name=section.name, parameters=dict(section.parameters)),
        )
        for section in source.description.sections
    ]
    if len(source.data.own_ratings):
        makers.append(("own_ratings", "Writers and third parties", maker_in("own_ratings")))
    makers.append(("answers", "Answers", answers.make_section))
    return make_each(source, makers)


def make_each(source: Source, makers: Sequence[Maker]) -> list[Section]:
    sections = [make_or_show_error(source, key, title, make) for key, title, make in makers]
    return [section for section in sections if section is not None]


def make_declared(source: Source, name: str, parameters: dict[str, Any]) -> Section | None:
    """The section with that name; a warning if it does not exist or its parameters are wrong."""
    make = SECTIONS.get(name)
    if make is None:
        warning = f"The task type asks for a section “{name}”, which this program does not have."
    else:
        try:
            signature(make).bind(source, **parameters)
        except TypeError as error:
            warning = f"The task type gives the section “{name}” wrong parameters: {error}."
        else:
            return make(source, **parameters)
    return Section(source.key(name), name.capitalize(), [Note(warning, "warning")])


def as_json(source: Source, sections: Sequence[Section], made_at: datetime) -> dict[str, Any]:
    """The content of ``report.json``."""
    return head_of(source, made_at) | {"sections": {section.key: section.to_json() for section in sections}}


def head_of(source: Source, made_at: datetime) -> dict[str, Any]:
    """What comes before the sections in ``report.json``."""
    study, ratings = source.description, source.data.ratings
    return {
        "version": VERSION,
        "study": {"slug": study.slug, "title": study.title, "status": study.status},
        "made_at": made_at.isoformat(timespec="seconds"),
        "draws": source.draws,
        "seed": source.seed,
        "left_out": source.data.left_out,
        "rejected": study.rejected,
        "simulated_share": float(ratings["synthetic"].mean()) if len(ratings) else None,
    }


def as_page(source: Source, sections: Sequence[Section], made_at: datetime) -> str:
    ratings = source.data.ratings
    share = float(ratings["synthetic"].mean()) if len(ratings) else 0.0
    return render_page(
        subject=f"Report of the study {source.description.slug}",
        kind="report",
        title=source.description.title,
        sections=sections,
        made_at=made_at,
        draws=source.draws,
        seed=source.seed,
        left_out=left_out_lines(source),
        simulated=("All" if share == 1 else f"{100 * share:.1f}% of the") if share else "",
    )


def left_out_lines(source: Source) -> list[str]:
    """What the figures leave out, and what they include that a reader may not expect."""
    lines = [left_out_in_words(source.data.left_out)]
    if rejected := source.description.rejected:
        lines.append(f"The figures include {counted(rejected, 'submission')} whose pay was refused.")
    used = source.data.used
    if simulated := int(used["synthetic"].sum()):
        lines.append(f"They include {simulated:,} of {counted(len(used), 'submission')} by simulated workers.")
    if stopped_hits := len(source.data.stopped):
        lines.append(f"{counted(stopped_hits, 'hit')} that workers stopped for part pay gave no ratings.")
    if turned_away := questionnaires.turned_away_in_words(dict(source.description.turned_away)):
        lines.append(turned_away)
    return lines
