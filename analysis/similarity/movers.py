"""Word mover's and sentence mover's similarity of a text with its reference.

Source: Clark, Celikyilmaz & Smith 2019, "Sentence Mover's Similarity" (Clark 2021, ch. 5); word mover's distance from
Kusner et al. 2015. As in the authors' program, words are lower-case letters without stop words, a sentence is the mean
of its words' vectors, and distances are Euclidean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from analysis.diversity.association import Floats
from analysis.input_errors import InputError
from analysis.writing.edits import STOP_WORDS
from analysis.writing.story_texts import sentences, words_in

WMS, SMS, S_WMS = "wms", "sms", "s+wms"
MEASURES = (WMS, SMS, S_WMS)
#: The words of each sentence.
Story: TypeAlias = Sequence[Sequence[str]]
#: From words to their vectors, (d,) each; a word can be missing.
Vectors: TypeAlias = Mapping[str, Floats]


def story_of(text: str) -> list[list[str]]:
    """The content words of each sentence, in lower case; sentences without one are left out."""
    words = [[word for word in words_in(part) if word.isalpha() and word not in STOP_WORDS] for part in sentences(text)]
    return [sentence for sentence in words if sentence]


def mover_similarity(text: Story, reference: Story, vectors: Vectors, measure: str) -> float:
    """exp(−EMD) between two texts, from 0 (far apart) to 1 (the same); NaN if one of them has no known word.

    Each word weighs its number of occurrences (``wms``), each sentence its number of words (``sms``), or both kinds
    together, each half of the whole (``s+wms``). The earth mover's distance (EMD) is exact. ValueError: no such
    measure.
    """
    if measure not in MEASURES:
        raise ValueError(f"there is no measure “{measure}”; use one of {', '.join(MEASURES)}")
    from ot import emd2  # POT takes half a second to import

    (points, weights), (other_points, other_weights) = (_bag(story, vectors, measure) for story in (text, reference))
    if not len(weights) or not len(other_weights):
        return math.nan
    distances = np.sqrt(np.maximum(_squares(points, other_points), 0.0))
    return math.exp(-float(emd2(weights / weights.sum(), other_weights / other_weights.sum(), distances)))


def unknown_words(stories: Iterable[Story], vectors: Vectors) -> tuple[int, int]:
    """How many content words of all stories have no vector, and how many there are."""
    words = [word for story in stories for sentence in story for word in sentence]
    return sum(word not in vectors for word in words), len(words)


def vectors_of(words: Iterable[str], embed: Callable[[Sequence[str]], Floats]) -> dict[str, Floats]:
    """One vector for each word, from a model that embeds it alone."""
    different = sorted(set(words))
    return dict(zip(different, embed(different), strict=True)) if different else {}


def read_vectors(path: str | Path, words: Iterable[str]) -> dict[str, Floats]:
    """The vectors of these words from a text file as GloVe, word2vec and fastText have it: a word and its numbers.

    A first line with two whole numbers, as word2vec writes it, is skipped. InputError: no such file, a line without
    numbers or with another count of them than the first, or none of the words.
    """
    wanted = set(words)
    vectors: dict[str, Floats] = {}
    width = 0
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, *cells = line.rstrip().split(" ")
                if number == 1 and len(cells) == 1 and word.isdecimal() and cells[0].isdecimal():
                    continue
                width = width or len(cells)
                if word not in wanted:
                    continue
                try:
                    vector = np.array(cells, dtype=float)
                except ValueError:
                    vector = np.empty(0)
                if len(vector) != width or not width or not np.isfinite(vector).all():
                    fix = "each line has a word and its numbers, with single spaces between them"
                    raise InputError(path, f"line {number}", f"does not have {width} numbers", fix)
                vectors[word] = vector
    except OSError as error:
        raise InputError(path, "", f"cannot be read ({error.strerror})") from error
    if not vectors:
        raise InputError(path, "", "has no vector for any word of the texts", "give vectors of the texts’ language")
    return vectors


def _bag(story: Story, vectors: Vectors, measure: str) -> tuple[Floats, Floats]:
    """Points (p, d) with their weights (p,): words, sentences or both."""
    known = [sentence for sentence in ([word for word in part if word in vectors] for part in story) if sentence]
    points: list[Floats] = []
    weights: list[float] = []
    if measure != SMS:
        counts = Counter(word for sentence in known for word in sentence)
        points += [vectors[word] for word in counts]
        weights += counts.values()
    if measure != WMS:
        points += [np.mean([vectors[word] for word in sentence], axis=0) for sentence in known]
        weights += [len(sentence) for sentence in known]
    return np.array(points, dtype=float), np.array(weights, dtype=float)


def _squares(left: Floats, right: Floats) -> Floats:
    """Squared Euclidean distances, (p, q)."""
    return np.asarray(((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2))
