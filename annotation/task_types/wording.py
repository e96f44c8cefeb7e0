"""Questions and scales as texts that a study can reword, and the words that several types share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from analysis.description import Scale
from annotation.task_types.base import Text
from annotation.task_types.items import Json

#: By generation task: the words for the context, for one response, and for what the worker writes.
TASK_WORDS: dict[str, Mapping[str, str]] = {
    "story": {
        "heading": "Beginning of a story",
        "context": "story",
        "response": "ending",
        "responses": "endings",
        "write": "Write your own ending for this story in one sentence.",
        "fit": "How well does this ending fit the story?",
    },
    "response": {
        "heading": "Comment",
        "context": "comment",
        "response": "reply",
        "responses": "replies",
        "write": "Write your own reply to this comment in one sentence.",
        "fit": "How well does this reply fit the comment?",
    },
    "prompt": {
        "heading": "First words of a sentence",
        "context": "first words",
        "response": "continuation",
        "responses": "continuations",
        "write": "Continue these words in your own way, up to the end of the sentence.",
        "fit": "How well does this continuation fit the first words?",
    },
}

#: What workers read before they agree to take part, and next to the instructions, where a study records edits.
RECORDING = (
    "This study records how you write: every change in a text box is saved with its time, including what you delete. "
    "The researchers can replay it."
)


def recording_texts(config: Json) -> list[Text]:
    """The notice for workers, for types with `settings.record_edits_field`: empty if the study does not record."""
    if not config.get("record_edits"):
        return []
    return [Text("recording", "Notice that typing is recorded", RECORDING, lines=3)]


def recording_notice(texts: Mapping[str, str]) -> str:
    """The study's notice. A study that went live before there was one has the usual one."""
    return texts.get("recording") or RECORDING


def scale_texts(topic: str, scale: Scale, group: str) -> list[Text]:
    """``<topic>.<value>.label`` and, where the scale has descriptions, ``.description`` of every named point."""
    described = any(point.description for point in scale.points)
    texts: list[Text] = []
    for point in scale.points:
        if not point.label:
            continue
        texts.append(Text(f"{topic}.{point.key}.label", f"{point.key}: name", point.label, group))
        if described:
            name = f"{topic}.{point.key}.description"
            texts.append(Text(name, f"{point.key}: description", point.description, group))
    return texts


def worded(topic: str, scale: Scale, texts: Mapping[str, str]) -> Scale:
    """The scale in the study's words. Points without texts do not change."""
    names = _names_of_texts(topic, scale)
    words = tuple(
        [
            (texts.get(label, point.label), texts.get(line, point.description))
            for point, (label, line) in zip(scale.points, names, strict=True)
        ]
    )
    return _worded(scale, words)


@lru_cache(maxsize=512)
def _names_of_texts(topic: str, scale: Scale) -> tuple[tuple[str, str], ...]:
    """Of each point, the names of its two texts."""
    return tuple((f"{topic}.{point.key}.label", f"{topic}.{point.key}.description") for point in scale.points)


@lru_cache(maxsize=512)
def _worded(scale: Scale, words: tuple[tuple[str, str], ...]) -> Scale:
    """Cached, so that all pages of a study use one object: that is faster to compare and render than equal objects."""
    points = zip(scale.points, words, strict=True)
    return replace(
        scale, points=tuple(replace(point, label=label, description=line) for point, (label, line) in points)
    )


def task_in_sentences(parts: Sequence[str]) -> str:
    """The parts of a task (clauses such as “you read a text”) as sentences with First, Then and Last."""
    if len(parts) == 1:
        return f"{parts[0][0].upper()}{parts[0][1:]}."
    order = ["First", *["Then"] * (len(parts) - 2), "Last"]
    return " ".join(
        f"{word}, {part}." if word == "Last" else f"{word} {part}." for word, part in zip(order, parts, strict=True)
    )
