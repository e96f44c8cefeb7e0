"""The methods of a paper: everything that the study knows about itself, with blanks where it knows nothing.

Every number comes from report.json, through `analysis.paper.prose.Numbers`. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from analysis.description import ArmDescription, QuestionDescription, StudyDescription
from analysis.kinds import kind_in_words
from analysis.paper.data_methods import (
    agreement_paragraph,
    analysis_paragraph,
    data_paragraph,
    ethics_paragraph,
    quality_paragraph,
)
from analysis.paper.participants import participants_paragraph, pay_paragraph
from analysis.paper.prose import Numbers, Paragraph, blank, cite, listed, quoted, words
from analysis.paper.references import SOURCES, key_of_source
from common.words import counted

TITLE = "Methods of the human evaluation"
#: Longer values of settings are in study.json.
LONGEST_SETTING = 60
#: What has another end is a heading: of an answer, or of what the page records by itself.
ENDS_OF_QUESTIONS = (".", "?", "!", ":", "…", "”")
ROLES = {
    "practice": "practice item",
    "exam": "item of an exam",
    "gold": "item with known answers",
    "attention": "attention check",
}
ROLE_PLURALS = {"exam": "items of an exam", "gold": "items with known answers"}


def methods(study: StudyDescription, numbers: Numbers) -> list[Paragraph]:
    paragraphs = [
        simulated_warning(numbers),
        Paragraph("Task and items", [*task_sentences(study), *item_sentences(study, numbers)]),
        Paragraph("Questions", question_sentences(study)),
        Paragraph("Design", [*design_sentences(study, numbers), *arm_sentences(study, numbers)]),
        participants_paragraph(study, numbers),
        pay_paragraph(study, numbers),
        quality_paragraph(study, numbers),
        data_paragraph(study, numbers),
        agreement_paragraph(study, numbers),
        analysis_paragraph(numbers),
        ethics_paragraph(study),
    ]
    return [paragraph for paragraph in paragraphs if paragraph is not None and paragraph.sentences]


def simulated_warning(numbers: Numbers) -> Paragraph | None:
    """None if all ratings are by people."""
    data = ("sections", "data")
    if not numbers.value(*data, "submissions_simulated"):
        return None
    who = numbers.counted("simulated worker", *data, "workers_simulated")
    sent = numbers.count(*data, "submissions_simulated")
    of = numbers.counted("submission", *data, "submissions_used")
    return Paragraph(
        "Simulated data",
        [
            f"{sent} of the {of} in the analysis are by {who}: programs, not people.",
            "All figures that include them say nothing about people and must not be published as results.",
        ],
        warning=True,
    )


def task_sentences(study: StudyDescription) -> list[str]:
    if study.imported_from:
        return [
            f"The answers were collected with {words(study.imported_from)} "
            f"({blank('who set it up, and where the instrument comes from')}), and analysed with HITServer.",
            f"The task in short: {blank('what people read and did')}.",
        ]
    key = key_of_source(study.source)
    if key:
        where = next(
            study.source.removeprefix(start).strip(" ,") for start in SOURCES if study.source.startswith(start)
        )
        source = f", which follows an instrument of earlier work{cite(key, where=where)}"
    else:
        source = f" ({blank('where the instrument comes from')})"
    task = words(study.summary)
    return [
        f"We collected the answers on web pages of HITServer, with its task type {quoted(study.task_title)}{source}.",
        f"The task in short: {task[:1].lower()}{task[1:]}",
    ]


def item_sentences(study: StudyDescription, numbers: Numbers) -> list[str]:
    data = ("sections", "data")
    items = numbers.counted("item", *data, "items")
    did = "Workers wrote for" if study.own_work else "Workers judged"
    sentences = [
        f"{did} {items} ({blank('what the items are, where they come from, and how you selected them')}).",
    ]
    findings = numbers.value("sections", "findings") or {}
    for name, rows in findings.items():
        if not name.startswith("levels by "):
            continue
        levels = list(dict.fromkeys(level_of(row) for row in rows))
        sentences.append(f"We compare {counted(len(levels), 'level')} of {name[10:]}: {listed(levels)}.")
        numbers.shown(f"{len(levels)}", "sections", "findings", name)
    roles = numbers.value(*data, "items_of_other_roles") or {}
    if roles:
        way = (*data, "items_of_other_roles")
        others = [numbers.counted_as(ROLES.get(role, role), ROLE_PLURALS.get(role, ""), *way, role) for role in roles]
        sentences.append(f"Besides these, there were {listed(others)}; no figure about items includes them.")
    return sentences


def level_of(row: Mapping[str, object]) -> str:
    level = row["level"]
    return words(str(level["name"] if isinstance(level, Mapping) else level))


# --- questions ---


def question_sentences(study: StudyDescription) -> list[str]:
    """The wording of all questions, those on one scale together, and where to see them."""
    questions = study.questions
    if not questions:
        return [f"The study asked {blank('the questions that workers answered')}."]
    groups: dict[tuple[str, str], list[QuestionDescription]] = {}
    headings: list[str] = []
    for question in questions:
        answers = kind_in_words(question.kind).in_prose(question)
        if question.label.rstrip().endswith(ENDS_OF_QUESTIONS):
            groups.setdefault((question.kind, answers), []).append(question)
        else:
            headings.append(f"{quoted(question.label)} (in short: {words(question.topic)}), {answers}")
    sentences = []
    for (_, answers), members in groups.items():
        wordings = [f"{quoted(member.label)} (in short: {words(member.topic)})" for member in members]
        verb = "was" if len(members) == 1 else "were each"
        sentences.append(f"{listed(wordings)} {verb} answered {answers}.")
    if study.imported_from:
        if headings:
            sentences.append(f"In the exported data, the questions are called: {'; '.join(headings)}.")
        return [*sentences, f"Their wording was {blank('as people saw it, with the names of the answers')}."]
    if headings:
        sentences.append(f"Workers answered, or the pages recorded, under a heading: {'; '.join(headings)}.")
    sentences.append("The pages of the appendix show the wording as workers saw it.")
    return sentences


# --- design ---


def design_sentences(study: StudyDescription, numbers: Numbers) -> list[str]:
    if study.imported_from:
        what = "how many answers you asked for about each item, who got which items, and in what order"
        return [f"The design was {blank(what)}."]
    design = ("sections", "design")
    per_item = numbers.counted("submission", *design, "ratings_per_item")
    per_task = numbers.counted("item", *design, "items_per_hit")
    limit = numbers.counted("minute", *design, "time_limit_minutes")
    most = "any number of tasks"
    if study.hits_per_worker is not None:
        most = f"at most {numbers.counted('task', *design, 'hits_per_worker')}"
    sentences = [
        f"We asked for {per_item} for each item.",
        f"A task (a “HIT”) had {per_task} and a time limit of {limit}; one worker could do {most}.",
    ]
    seed = numbers.count(*design, "seed")
    sentences.append(
        f"Tasks were given out in random order (seed {seed}), those with the fewest submissions first, and nobody "
        "answered about the same item twice."
    )
    if study.balance:
        sentences.append(words(study.balance))
    settings = [
        f"{words(name)[:1].lower()}{words(name)[1:]}: {words(value)}"
        for name, value in study.settings
        if value and len(value) <= LONGEST_SETTING
    ]
    if settings:
        sentences.append(f"Settings of the task type: {'; '.join(settings)}.")
    return sentences


def arm_sentences(study: StudyDescription, numbers: Numbers) -> Iterable[str]:
    if not study.has_arms:
        return
    count = numbers.shown(f"{len(study.arms)}", "sections", "design", "arms")
    names = listed([words(arm.name) for arm in study.arms])
    yield (
        f"Between subjects, there were {count} conditions: {names}. A worker joined the one with the fewest "
        "participants at the time, and stayed in it."
    )
    for arm in study.arms:
        if differences := differences_of(arm):
            yield f"In the condition {words(arm.name)}, {listed(differences)}."


def differences_of(arm: ArmDescription) -> list[str]:
    settings = [f"{name.replace('_', ' ')} is set to {words(str(value))}" for name, value in arm.config.items()]
    short = [setting for setting in settings if len(setting) <= LONGEST_SETTING]
    levels = [f"the level of {words(name)} is {words(level)}" for name, level in arm.factors.items()]
    texts = [f"the {name.replace('_', ' ')} has its own wording" for name in arm.texts]
    return [*levels, *short, *texts]
