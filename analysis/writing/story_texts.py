"""What texts are like: sentence length, repeated words, how concrete the nouns and verbs are.

Source: Clark 2021, ch. 4.5 (suggestions of two models against the lines that writers wrote alone); distinct-n from Li
et al. 2016. A *text* here is everything from one source in one story, such as the five suggestions of one model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.diversity.metrics import ngrams
from analysis.tables import InputError, read_texts, require_columns, shown
from analysis.tagging import Tagger, tokens_of

#: A sentence ends at . ! ? … (with quotes or brackets behind it) before white space, or at a line break.
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|\n+")
_DECIMAL_COMMA = re.compile(r"\s*\d+,\d+\s*")
ORDERS = (1, 2, 3)


def sentences(text: str) -> list[str]:
    """The sentences of a text, without those that have no word. An abbreviation with a full stop ends a sentence."""
    return [part.strip() for part in _SENTENCE_END.split(text) if words_in(part)]


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return [token.casefold() for token in tokens_of(text) if token[0].isalnum()]


def mean_sentence_length(text: str) -> float:
    """Words per sentence; NaN for a text without words."""
    found_sentences = sentences(text)
    return len(words_in(" ".join(found_sentences))) / len(found_sentences) if found_sentences else math.nan


def distinct_shares(lines: Sequence[str], orders: Sequence[int] = ORDERS) -> list[float]:
    """For each order: different / all n-grams of the words of all lines, in (0, 1]; NaN if there are none.

    N-grams never cross from one line to the next. Longer texts repeat more, so only compare texts of similar length.
    """
    words = [words_in(line) for line in lines]
    shares = []
    for order in orders:
        grams = [gram for line in words for gram in ngrams(line, order)]
        shares.append(len(set(grams)) / len(grams) if grams else math.nan)
    return shares


def read_concreteness(path: str | Path) -> dict[str, float]:
    """Ratings of concreteness by word (lower case), from a table with columns ``word`` and ``rating``.

    The published ratings of Brysbaert et al. 2014, a text file with tabs, call them ``Word`` and ``Conc.M``, which is
    also accepted; the other columns are not needed. A word that appears twice keeps its first rating. InputError:
    anything wrong with the file.
    """
    frame = read_texts(path)
    published = {"Word", "Conc.M"} <= set(frame.columns)
    word, rating = ("Word", "Conc.M") if published else ("word", "rating")
    require_columns(list(frame.columns), path, word, rating)
    rating_of_word: dict[str, float] = {}
    for row, name, cell in zip(frame.index, frame[word], frame[rating], strict=True):
        try:
            value = float(cell)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            what = f"{shown(str(cell))} is not a number"
            fix = "write it with a point, not a comma" if _DECIMAL_COMMA.fullmatch(str(cell)) else "write a rating"
            raise InputError(path, f'row {row}, column "{rating}"', what, f"{fix}, such as 4.85")
        rating_of_word.setdefault(str(name).strip().casefold(), value)
    return rating_of_word


def concreteness(text: str, ratings: Mapping[str, float], tagger: Tagger) -> tuple[float, float, float]:
    """Mean rating of the nouns, mean rating of the verbs, and the share of nouns and verbs with a rating.

    A word is looked up as its dictionary form, else as written. Names and auxiliary verbs are not counted, and the
    ratings of expressions of two words are not used. NaN without a rated noun (or verb), and for the share without any.
    """
    values: dict[str, list[float]] = {"NOUN": [], "VERB": []}
    total = 0
    for token in tagger(text):
        if token.tag in values:
            total += 1
            value = ratings.get(token.lemma, ratings.get(token.word.casefold()))
            if value is not None:
                values[token.tag].append(value)
    rated = sum(map(len, values.values()))
    nouns, verbs = (
        math.fsum(ratings_of_tag) / len(ratings_of_tag) if ratings_of_tag else math.nan
        for ratings_of_tag in values.values()
    )
    return nouns, verbs, rated / total if total else math.nan
