"""Prompts from templates: ``{field}`` is a field of the context, ``{{`` and ``}}`` are braces.

The built-in templates word the tasks of the published studies: story completion, response generation and prompt
completion (Tevet & Berant 2021), continuations of news (Zhang et al. 2020), detection (Clark 2021, ch. 6).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from generation.decoding import entities

#: A place in a template that is made of a text: the entities of the story so far, all or by mode.
ENTITIES = "entities"
#: The fields whose entities these are, the first that there is.
STORIES = ("story", "context", "prompt")
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class TemplateError(ValueError):
    """A template that cannot be used: the message gives the problem and how to fix it."""


@dataclass(frozen=True)
class BuiltIn:
    """A template with the limits and the priming text for its task. A run file can set its own instead.

    ``first_words``: how many words of the field ``context`` count as the context; None means all.
    """

    name: str
    summary: str
    template: str
    limits: Mapping[str, Any] = field(default_factory=dict)
    priming: str = ""
    first_words: int | None = None


# Three exchanges that show the form of a reply; a small model would otherwise continue the comment.
_REPLIES = """\
Comment: My flight was moved by two days and nobody told me.
Reply: You should ask the airline for a refund of the hotel.

Comment: I finally finished the quilt that I started five years ago!
Reply: That is wonderful, will you show us a picture of it?

Comment: Is it true that cats sleep more in winter?
Reply: Mine does, but I think she is only looking for a warm place.

"""
_SENTENCE = {"max_new_tokens": 60, "min_new_tokens": 2, "stop": "sentence"}
_STORY_CHAT = "Write the one sentence that ends this story. Answer with that sentence alone.\n\n{context}"
_REPLY_CHAT = "Write a reply to this comment in one sentence. Answer with that sentence alone.\n\n{context}"

BUILT_IN: dict[str, BuiltIn] = {
    built_in.name: built_in
    for built_in in (
        BuiltIn("story", "the ending of a story", "{context}", _SENTENCE),
        BuiltIn("reply", "a reply to a comment", "Comment: {context}\nReply:", _SENTENCE, _REPLIES),
        BuiltIn("prompt_completion", "a sentence that begins with given words", "{context}", _SENTENCE),
        BuiltIn(
            "continuation",
            "exactly 30 tokens after the first 20 words of a news text",
            "{context}",
            {"exact": 30},
            first_words=20,
        ),
        BuiltIn(
            "detection",
            "100 words or more, up to the end of the sentence",
            "{prompt}",
            {"max_new_tokens": 300, "min_words": 100, "stop": "sentence"},
        ),
        BuiltIn(
            "story_entities",
            "story, with the entities so far named before it",
            "In this story so far: {entities}\n\n{context}",
            _SENTENCE,
        ),
        BuiltIn("story_chat", "story, asked of a chat model", _STORY_CHAT, _SENTENCE),
        BuiltIn("reply_chat", "reply, asked of a chat model", _REPLY_CHAT, _SENTENCE),
    )
}


def fields_of(template: str) -> list[str]:
    """Names of the fields a template uses, in order, those made of another field left out. Raises TemplateError for an
    unmatched brace or an unknown mode of entities."""
    names: dict[str, None] = {}
    for match in _PART.finditer(template):
        if match[0] in ("{", "}"):
            raise TemplateError(
                f"The brace at character {match.start() + 1} of the template is unpaired: write {match[0] * 2} for a "
                "brace that is meant as such, and {name} for a field."
            )
        if match[1] is not None:
            if not match[1].strip():
                raise TemplateError(f"The field at character {match.start() + 1} of the template has no name.")
            if _mode_of(match[1].strip()) is None:
                names[match[1].strip()] = None
    return list(names)


def uses_entities(template: str) -> bool:
    """Whether the template names the entities of a text."""
    return any(_mode_of(match[1].strip()) for match in _PART.finditer(template) if match[1])


def _mode_of(name: str) -> str | None:
    """How entities are named if this is their place in a template. Raises TemplateError for an unknown mode."""
    place, colon, mode = (part.strip() for part in name.partition(":"))
    if place != ENTITIES:
        return None
    mode = mode if colon else entities.BOTH
    if mode not in entities.MODES:
        raise TemplateError(
            f"{{{name}}} has an unknown mode; write {{entities}}, or one of "
            f"{', '.join(f'{{entities:{known}}}' for known in entities.MODES)}."
        )
    return mode


def fill(template: str, fields: Mapping[str, str]) -> str:
    """The template with its fields in place. Raises TemplateError that names an unknown field and the existing ones."""
    missing = [name for name in fields_of(template) if name not in fields]
    if missing:
        raise TemplateError(unknown_fields(missing, fields))
    braces = {"{{": "{", "}}": "}"}
    return _PART.sub(lambda match: braces.get(match[0]) or _filled(match[1].strip(), fields), template)


def _filled(name: str, fields: Mapping[str, str]) -> str:
    mode = _mode_of(name)
    if mode is None:
        return str(fields[name])
    text = next((fields[story] for story in STORIES if story in fields), None)
    if text is None:
        raise TemplateError(f"{{{name}}} is made of a field {', '.join(STORIES)}, and the context has none of them.")
    try:
        return entities.described(text, mode, entities.tagger())
    except entities.NoTagger as error:
        raise TemplateError(f"{{{name}}} cannot be filled: {error}") from error


def unknown_fields(missing: list[str], fields: Mapping[str, Any]) -> str:
    names = ", ".join(f"{{{name}}}" for name in missing)
    have = ", ".join(f"{{{name}}}" for name in fields) or "none"
    return f"The template uses {names}, which the context does not have; its fields: {have}."


def make_prompt(template: str, fields: Mapping[str, str], priming: str = "") -> tuple[str, int]:
    """The prompt, and how many of its characters are the priming text, which is never cut.

    The priming text comes unchanged before the filled template. If it does not end in white space, a blank line
    follows.
    """
    before = priming if not priming or priming[-1].isspace() else f"{priming}\n\n"
    return before + fill(template, fields), len(before)


def longest_prompt(template: str, fields: Mapping[str, str], priming: str = "") -> int:
    """The most characters that ``make_prompt`` can make, without making them."""
    used = (match[1].strip() for match in _PART.finditer(template) if match[1] is not None)
    most_named = entities.MOST * (2 * entities.LONGEST + len(" (last: ); "))
    lengths = (most_named if _mode_of(name) else len(fields.get(name, "")) for name in used)
    return len(priming) + 2 + len(template) + sum(lengths)


def first_words(text: str, count: int) -> str:
    """The text up to the end of its ``count``-th word, unchanged. White space separates words."""
    match = re.match(rf"\s*(?:\S+\s+){{0,{count - 1}}}\S+", text)
    return match[0] if match else text
