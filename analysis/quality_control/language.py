"""Texts in another language than the study's, and texts of unknown words. Loads a model and word lists when first used.

Two libraries, both with their data inside: py3langid identifies 139 languages by naive Bayes over byte n-grams (Lui &
Baldwin 2012, “langid.py”); pyspellchecker has word lists for twelve. A short text is never flagged, nor is a text with
half of its words known in a language of the study.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from analysis.quality_control.texts import is_meaningless, meaningless
from analysis.quality_control.work import Finding, Work

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier
    from spellchecker import SpellChecker

#: Languages whose words can be looked up.
WORD_LISTS = ("ar", "de", "en", "es", "eu", "fa", "fr", "it", "lv", "nl", "pt", "ru")
#: Fewer words are not enough to identify a language.
LEAST_WORDS = 4
#: The model's class for text that is in no language.
NO_LANGUAGE = "zxx"
LEAST_LETTERS = 15
#: If at least this share of the words is known in a language of the study, the text is in that language.
KNOWN_ENOUGH = 0.5
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Assessment:
    """A text's language. ``unknown``: share of words that no language of the study has; None if none has a word list.

    ``language``: the most likely one of the others; ``probability``, from 0 to 1: that the text is in one of these.
    ``elsewhere``: share of words unknown in that language; None without a word list.
    """

    unknown: float | None
    language: str
    probability: float
    elsewhere: float | None


def foreign(work: Work, threshold: float, languages: Sequence[str]) -> Iterator[Finding]:
    """Texts that are very probably in a language that the study does not use."""
    for text in work.texts:
        assessment = assess(text.text, tuple(languages))
        if assessment is not None and is_foreign(assessment, threshold):
            detail = f"{text.quoted} seems to be in another language ({assessment.language})."
            yield Finding("language", detail, assessment.probability, threshold, text.place)


def unknown_words(work: Work, threshold: float, languages: Sequence[str], *, foreign_at: float) -> Iterator[Finding]:
    """Texts of words that no language of the study has, unless they are in another language."""
    for text in work.texts:
        assessment = None if is_meaningless(text.text) else assess(text.text, tuple(languages))
        if assessment is None or assessment.unknown is None or assessment.unknown < threshold:
            continue
        if not is_foreign(assessment, foreign_at):
            detail = f"{text.quoted}: {assessment.unknown:.0%} of the words are in no word list."
            yield meaningless(text, assessment.unknown, threshold, detail)


def is_foreign(assessment: Assessment, threshold: float) -> bool:
    """Whether the text is in another language. Words that its own list does not have are gibberish, not foreign."""
    if assessment.probability < threshold:
        return False
    if assessment.unknown is not None and assessment.unknown <= 1 - KNOWN_ENOUGH:
        return False
    return assessment.elsewhere is None or assessment.elsewhere <= 1 - KNOWN_ENOUGH


@lru_cache(maxsize=20_000)
def assess(text: str, languages: tuple[str, ...]) -> Assessment | None:
    """What the model and the word lists show about a text; None if it is too short or the study names no language."""
    words = _WORD.findall(text)
    ideographs = len(_IDEOGRAPH.findall(text))
    letters = sum(len(word) for word in words)
    if not languages or ((len(words) < LEAST_WORDS or letters < LEAST_LETTERS) and ideographs < LEAST_WORDS):
        return None
    other_languages = {
        name: share for name, share in probabilities(text).items() if name not in (*languages, NO_LANGUAGE)
    }
    language = max(other_languages, key=lambda name: other_languages[name])
    # The lowest share of unknown words in these languages. None if the text may be in one without a list.
    shares = [unknown_share(words, name) for name in languages]
    unknown = min((share for share in shares if share is not None), default=None)
    if unknown is not None and unknown > 1 - KNOWN_ENOUGH and None in shares:
        unknown = None
    return Assessment(unknown, language, sum(other_languages.values()), unknown_share(words, language))


def probabilities(text: str) -> dict[str, float]:
    """The probability of each language in the model, by its code; NO_LANGUAGE for text that is in none."""
    return {str(name): float(share) for name, share in _identifier().rank(text)}


def unknown_share(words: Sequence[str], language: str) -> float | None:
    """The share of words that the language's list lacks; None if it has no list.

    Names count as known: words with a capital that are not the first. German writes every noun with a capital, so there
    it does not mark names.
    """
    if language not in WORD_LISTS or not words:
        return None
    word_list = _word_list(language)
    n_unknown = 0
    for position, word in enumerate(words):
        plain = word.casefold().replace("’", "'")
        forms = (plain, plain.partition("'")[0], plain.rpartition("'")[2])
        is_name = position > 0 and language != "de" and word[0].isupper() and not word.isupper()
        n_unknown += not is_name and not any(form and form in word_list for form in forms)
    return n_unknown / len(words)


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@lru_cache(maxsize=len(WORD_LISTS))
def _word_list(language: str) -> SpellChecker:
    from spellchecker import SpellChecker

    return SpellChecker(language=language, distance=1)
