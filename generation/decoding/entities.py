"""The entities of a story so far, for prompts that name them: ``{entities}`` in a template.

A prompt for any language model, after the idea of Clark, Ji & Smith 2018, whose model keeps a representation of each
entity instead. Noun phrases come from a tagger of parts of speech: determiners and adjectives, then nouns. Phrases with
the same last noun are one entity, as are names that share a word; pronouns and synonyms are not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from analysis.tagging import NoTagger, Tagged, load_tagger

#: What a template can have of each entity: {entities:first}, {entities:last}, or both ({entities}).
FIRST, LAST, BOTH = "first", "last", "first_and_last"
MODES = (BOTH, FIRST, LAST)
#: The most entities of a prompt, those mentioned last, and the most characters of a mention.
MOST, LONGEST = 8, 80
#: In place of the entities of a text without any.
NONE = "none"
_BEFORE, _NOUNS = ("DET", "ADJ", "NUM"), ("NOUN", "PROPN")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+")
Tag = Callable[[str], Sequence[Tagged]]


@dataclass
class Entity:
    """``names``: the words of its name, or the one last noun, in lower case. ``mentions``: as written, in order."""

    names: frozenset[str]
    named: bool
    mentions: list[str] = field(default_factory=list)


def entities_in(text: str, tag: Tag) -> list[Entity]:
    """All entities, in the order of their last mentions."""
    entities: list[Entity] = []
    for sentence in _SENTENCE_END.split(text):
        for phrase in _phrases(tag(sentence)):
            names = frozenset(word.word.casefold() for word in phrase if word.tag == "PROPN")
            key = names or frozenset([phrase[-1].lemma])
            same = [each for each in entities if each.named == bool(names) and each.names & key]
            entity = same[-1] if same else Entity(key, bool(names))
            if same:
                entities.remove(entity)
            entity.names |= key
            entity.mentions.append(" ".join(word.word for word in phrase)[:LONGEST])
            entities.append(entity)
    return entities


def described(text: str, mode: str, tag: Tag) -> str:
    """The entities that were mentioned last, at most ``MOST``, the latest at the end: first or last mentions, or both
    where they differ."""
    parts = []
    for entity in entities_in(text, tag)[-MOST:]:
        first, last = entity.mentions[0], entity.mentions[-1]
        both = first if first.casefold() == last.casefold() else f"{first} (last: {last})"
        parts.append({FIRST: first, LAST: last, BOTH: both}[mode])
    return "; ".join(parts) or NONE


@cache
def tagger() -> Tag:
    """HanTa, loaded once for each process. Raises NoTagger."""
    return load_tagger()


def _phrases(words: Sequence[Tagged]) -> list[list[Tagged]]:
    """Noun phrases: the longest stretches of determiners and adjectives, then nouns."""
    phrases: list[list[Tagged]] = []
    phrase: list[Tagged] = []
    for word in words:
        ended = phrase and phrase[-1].tag in _NOUNS and word.tag not in _NOUNS
        if ended or word.tag not in (*_BEFORE, *_NOUNS):
            phrases.append(phrase)
            phrase = []
        if word.tag in (*_BEFORE, *_NOUNS):
            phrase = [*phrase, word]
    phrases.append(phrase)
    return [each for each in phrases if each and each[-1].tag in _NOUNS]


__all__ = ["MODES", "NoTagger", "described", "entities_in", "tagger"]
