"""Words of a text with their parts of speech, from whichever tagger is installed.

HanTa (a small Python package with its own model, English) is the default. spaCy is used if you name one of its models.
Neither is loaded before `load_tagger` is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

HANTA = "hanta"
#: Words keep inner apostrophes and hyphens; every other character except white space is a separate token.
_TOKEN = re.compile(r"\w+(?:[’'\-]\w+)*|[^\w\s]")
#: The British National Corpus's tags (C5), by their first two letters, as Universal Dependencies names the classes.
_C5 = {
    **dict.fromkeys(("NN",), "NOUN"),
    **dict.fromkeys(("NP",), "PROPN"),
    **dict.fromkeys(("VV",), "VERB"),
    **dict.fromkeys(("VB", "VD", "VH", "VM"), "AUX"),
    **dict.fromkeys(("AJ", "OR"), "ADJ"),
    **dict.fromkeys(("AV",), "ADV"),
    **dict.fromkeys(("AT", "DP", "DT"), "DET"),
    **dict.fromkeys(("PN", "EX"), "PRON"),
    **dict.fromkeys(("PR",), "ADP"),
    **dict.fromkeys(("CJ",), "CCONJ"),
    **dict.fromkeys(("CR",), "NUM"),
    **dict.fromkeys(("IT",), "INTJ"),
    **dict.fromkeys(("TO", "XX", "PO"), "PART"),
    **dict.fromkeys(("PU",), "PUNCT"),
}


@dataclass(frozen=True, slots=True)
class Tagged:
    """One token: the word as written, its dictionary form in lower case, its class (NOUN, VERB, ADJ … or X)."""

    word: str
    lemma: str
    tag: str


Tagger: TypeAlias = Callable[[str], list[Tagged]]


class NoTagger(ValueError):
    """The tagger or its model is not installed. ``str()`` describes how to install it."""


def tokens_of(text: str) -> list[str]:
    """Words and punctuation marks in order, case kept. Empty for a text without either."""
    return _TOKEN.findall(text)


def load_tagger(name: str = HANTA) -> Tagger:
    """The tagger ``hanta``, or the spaCy model of that name (such as ``en_core_web_sm``).

    Both give classes as Universal Dependencies names them. HanTa does not distinguish conjunctions: all are CCONJ.
    Raises NoTagger.
    """
    return _hanta() if name == HANTA else _spacy(name)


def _hanta() -> Tagger:
    try:
        module = import_module("HanTa.HanoverTagger")
    except ImportError:
        raise NoTagger("the tagger HanTa is not installed: pip install HanTa, or name a spaCy model") from None
    model: Any = module.HanoverTagger("morphmodel_en.pgz")

    def tag(text: str) -> list[Tagged]:
        tokens = tokens_of(text)
        if not tokens:
            return []
        return [
            Tagged(word, str(lemma).casefold(), _C5.get(str(code)[:2], "X"))
            for word, lemma, code in model.tag_sent(tokens)
        ]

    return tag


def _spacy(name: str) -> Tagger:
    try:
        model: Any = import_module("spacy").load(name)
    except ImportError:
        raise NoTagger(f"spaCy is not installed: pip install spacy, then python -m spacy download {name}") from None
    except OSError:
        raise NoTagger(f"spaCy has no model “{name}”: python -m spacy download {name}") from None

    def tag(text: str) -> list[Tagged]:
        return [Tagged(token.text, token.lemma_.casefold(), token.pos_) for token in model(text) if not token.is_space]

    return tag
