"""Productions: the texts that people and models wrote for one context, and the distances between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis.diversity.association import Floats
from analysis.similarity.embedding import Embedder
from analysis.tagging import Tagger, tokens_of
from analysis.variability.distances import cosine_matrix, ngram_matrix

ORDERS = (1, 2, 3)
#: The kinds of distance and what readers call them.
KINDS = {
    "lexical-1": "Lexical, words",
    "lexical-2": "Lexical, pairs of words",
    "lexical-3": "Lexical, triples of words",
    "syntactic-1": "Syntactic, parts of speech",
    "syntactic-2": "Syntactic, pairs",
    "syntactic-3": "Syntactic, triples",
    "semantic": "Semantic",
}


@dataclass(frozen=True, slots=True)
class Productions:
    """``human`` texts with their ``writers`` (one name for each, or none at all), and texts by each decoder."""

    context: str
    human: Sequence[str]
    writers: Sequence[str] = ()
    models: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.writers and len(self.writers) != len(self.human):
            raise ValueError(f"{self.context}: {len(self.human)} texts have {len(self.writers)} writers")

    @property
    def texts(self) -> list[str]:
        """All texts: people's first, then those of each decoder."""
        return [*self.human, *(text for texts in self.models.values() for text in texts)]

    @property
    def places(self) -> dict[str, list[int]]:
        """Where the texts of each decoder are in `texts`."""
        positions, start = {}, len(self.human)
        for name, texts in self.models.items():
            positions[name] = list(range(start, start + len(texts)))
            start += len(texts)
        return positions


def embedded(productions: Iterable[Productions], embedder: Embedder) -> Floats | None:
    """The embeddings of all texts in order, as `matrices` takes them; None if there are no texts."""
    texts = [text for context in productions for text in context.texts]
    return embedder(texts) if texts else None


def matrices(
    productions: Iterable[Productions], *, tagger: Tagger | None = None, vectors: Floats | None = None
) -> Iterator[tuple[Productions, dict[str, Floats]]]:
    """Each context with its matrices of distances by kind.

    ``lexical-1`` to ``lexical-3`` always; with ``tagger``, ``syntactic-1`` to ``syntactic-3``; with ``vectors``, the
    embeddings (texts, d) of all texts of all contexts in order, ``semantic``. Words are compared in lower case.
    ValueError: not as many embeddings as texts.
    """
    start = 0
    for context in productions:
        texts = context.texts
        words = [[token.casefold() for token in tokens_of(text)] for text in texts]
        matrix_of_kind = {f"lexical-{n}": ngram_matrix(words, n) for n in ORDERS}
        if tagger is not None:
            tags = [[token.tag for token in tagger(text)] for text in texts]
            matrix_of_kind |= {f"syntactic-{n}": ngram_matrix(tags, n) for n in ORDERS}
        if vectors is not None:
            context_vectors = np.asarray(vectors[start : start + len(texts)])
            if len(context_vectors) < len(texts):
                raise ValueError(f"there are {len(vectors):,} embeddings, fewer than texts")
            matrix_of_kind["semantic"] = cosine_matrix(context_vectors)
        start += len(texts)
        yield context, matrix_of_kind
    if vectors is not None and start != len(vectors):
        raise ValueError(f"there are {len(vectors):,} embeddings for {start:,} texts")
