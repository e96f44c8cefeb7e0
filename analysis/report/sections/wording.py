"""What workers read, word by word."""

from __future__ import annotations

from typing import Any

from analysis.description import Scale
from analysis.kinds import kind_in_words
from analysis.report.blocks import Fold, Section, Wording
from analysis.report.source import Source


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
        rows.append((f"Answers, {question.scale.level} scale", kind_in_words(question.kind).on_page(question)))
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
