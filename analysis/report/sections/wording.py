"""What workers read, word by word."""

from __future__ import annotations

from typing import Any

from analysis.description import QuestionDescription, Scale
from analysis.report.blocks import Fold, Section, Wording
from analysis.report.source import MANY_POINTS, Source


def make_section(source: Source) -> Section:
    """The texts that all workers read, then those of single arms."""
    study = source.description
    section = Section(source.key("wording"), "What workers read")
    parts = [Wording(list(study.texts))]
    for arm in study.arms:
        if arm.texts:
            texts = [(f"Arm {arm.name}: {name.replace('_', ' ')}", text) for name, text in arm.texts.items()]
            parts.append(Wording(texts))
    questions = []
    for topic, question in source.questions.items():
        if topic in source.unknown:
            continue
        rows = [("Question", question.label)]
        if question.help:
            rows.append(("Help", question.help))
        rows.append((f"Answers, {question.scale.level} scale", answers_in_words(question)))
        parts.append(Wording([(f"{topic}: {name}", text) for name, text in rows]))
        questions.append(
            {"topic": topic, "label": question.label, "help": question.help, "answers": points(question.scale)}
        )
    section.add(Fold("Consent, instructions, questions and scales, word by word", parts))
    section.data = {"texts": dict(study.texts), "questions": questions}
    return section


def points(scale: Scale) -> list[dict[str, Any]]:
    return [
        {"value": point.value, "label": point.label} | ({"description": point.description} if point.description else {})
        for point in scale.points
    ]


def answers_in_words(question: QuestionDescription) -> str:
    """The scale from its top down as on the page, or the limits of a text."""
    if question.scale.level == "text":
        limits = question.bounds
        lengths = [
            f"{word} {length_in_words(limits[f'{end}_{unit}'], unit)}"
            for unit in ("words", "chars")
            for end, word in (("min", "at least"), ("max", "at most"))
            if limits.get(f"{end}_{unit}")
        ]
        return f"A text of {', '.join(lengths)}." if lengths else "A text of any length."
    if not question.scale.points:
        return f"A number on the scale “{question.scale.name}”."
    if len(question.scale.points) > MANY_POINTS and not any(point.label for point in question.scale.points):
        return f"A number from {question.scale.low:g} to {question.scale.high:g}."
    if question.targets:
        heading = "Any of these options:" if question.kind == "choices" else "An order of these options:"
        return "\n".join([heading, *question.targets.values()])
    return "\n".join(
        f"{point.text}: {point.description}" if point.description else point.text for point in question.scale.points
    )


def length_in_words(number: int, unit: str) -> str:
    one, several = {"words": ("one word", "words"), "chars": ("one character", "characters")}[unit]
    return one if number == 1 else f"{number:,} {several}"
