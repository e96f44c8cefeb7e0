"""Stasaski & Hearst 2022: diversity by inference between responses, and generation until a set is diverse enough.

No package carries an NLI model. Without ``nli`` (a hub name or folder), classes come from a count of shared words: the
tables then show the layout and the tests, and say nothing about inference.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from analysis.diversity.evaluation import con_test, dec_test
from analysis.diversity.nli import CONTRADICTION, ENTAILMENT, NEUTRAL, VARIANTS, Classify, Pair, nli_metric
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.inference import Dimensions, mean_estimate
from analysis.report.blocks import Section
from analysis.report.tables import Column, Table
from analysis.similarity.bleu import sentence_bleu
from bench.papers.drawn import WORDS, sentence
from bench.papers.published import Published
from bench.papers.tevet import SIZES as SETS
from bench.papers.tevet import TASKS, Sets, sets_of
from generation.diversify.threshold import Diversified, diversify

SIZES = {"published": {"contexts": 50, "trials": 10}, "small": {"contexts": 6, "trials": 2}}
#: How many words a simulated decoder draws from beside those of its context.
DECODERS = {"nucleus": 40, "beam": 6}
REFERENCES, PERCENTILE, CONTRADICTIONS = 5, 90, 10

TABLES = (
    Published(
        "NLI metrics, decTest and conTest",
        "ρ with the diversity parameter, OCA",
        "sets",
        "nli",
        "NLI metrics",
        "Baseline, Neutral, Confidence and the three counts, for three tasks. Ours adds OCA.",
    ),
    Published(
        "Appendix A",
        "intervals of ρ from resamples of half the sets",
        "sets",
        "nli",
        "Half-size bootstrap",
        "1,000 resamples of half the sets, as published; ours beside it resamples as many as there are.",
    ),
    Published(
        "Diversity Threshold Generation",
        "start and end diversity, responses drawn, overlap",
        "generation",
        "nli",
        "Diversity Threshold Generation",
        "Two decoders; the threshold is the 90th percentile of people's sets, or more than 10 contradictions.",
    ),
    Published(
        "Table 5",
        "relevance before and after",
        "generation",
        "nli",
        "Relevance against human references",
        "Multi-reference BLEU as sacrebleu has it. `samples diversify --relevance-model` adds BERTScore.",
    ),
)


def studies(size: str, seed: int, released: Path | None = None, nli: str = "") -> Iterator[tuple[str, list[Section]]]:
    classify = real_classifier(nli) if nli else by_shared_words
    yield "sets", [Section("nli", "NLI metrics", list(of_sets(classify, size, seed, released)))]
    yield "generation", [Section("nli", "Generation", list(of_generation(classify, size, seed)))]


def real_classifier(model: str) -> Classify:
    from analysis.similarity.neural import inference_classifier

    return inference_classifier(model)


def by_shared_words(pairs: Sequence[Pair]) -> list[tuple[str, float]]:
    """A stand-in for a model: many shared words are an entailment, hardly any a contradiction."""
    classes = []
    for left, right in pairs:
        first, second = ({word.strip(".,").lower() for word in text.split()} for text in (left, right))
        shared = len(first & second) / max(1, len(second))
        name = ENTAILMENT if shared > 0.6 else CONTRADICTION if shared < 0.2 else NEUTRAL
        classes.append((name, 0.5 + abs(shared - 0.4) / 1.2))
    return classes


def of_sets(classify: Classify, size: str, seed: int, released: Path | None) -> Iterator[Table]:
    rows, intervals = [], []
    for test, task in product(("decTest", "conTest"), TASKS):
        sets: Sets = sets_of(test, task, SETS[size]["sets"], seed, released)
        labels = [one[2] for one in sets]
        groups = [one[1] for one in sets] if test == "conTest" else None
        units = len(set(groups)) if groups else len(sets)
        for variant in VARIANTS:
            metric = nli_metric(variant, classify)
            scores = [metric(one[3]) for one in sets]
            full, half = Bootstrap(seed=seed), Bootstrap(draws=1_000, seed=seed, size=units // 2)
            if test == "conTest":
                result = con_test(scores, labels, plan=full, groups=groups)
                rho, oca = result.rho, result.oca
                of_half = con_test(scores, labels, plan=half, groups=groups).rho
            else:
                rho, oca = dec_test(scores, labels, plan=full).spearman, None
                of_half = dec_test(scores, labels, plan=half).spearman
            rows.append((test, task, variant, rho, oca))
            intervals.append((test, task, variant, of_half, rho))
    head = [Column("Test", "text"), Column("Task", "text"), Column("Metric", "name")]
    yield Table("NLI metrics against the diversity parameter", [*head, Column("Spearman’s ρ"), Column("OCA")], rows)
    columns = [*head, Column("ρ, half-size resamples"), Column("ρ, full-size resamples")]
    yield Table("Half-size bootstrap of ρ", columns, intervals)


def of_generation(classify: Classify, size: str, seed: int) -> Iterator[Table]:
    """Sets of five are replaced response by response until they are diverse enough; ten trials per context."""
    nli, contradictions = nli_metric("nli", classify), nli_metric("contradictions", classify)
    n, words = SIZES[size], random.Random(f"{seed}/generation")
    sets: dict[tuple[str, str], list[tuple[str, Diversified]]] = {}
    topics = {f"c{at}": words.sample(WORDS, 10) for at in range(n["contexts"])}
    references = {
        context: [sentence(words, 8, [*own, *words.sample(WORDS, 14)]) for _ in range(REFERENCES)]
        for context, own in topics.items()
    }
    of_people = float(np.percentile([nli(texts) for texts in references.values()], PERCENTILE))
    rules = {
        "90th percentile of people": (nli, of_people),
        "more than 10 contradictions": (contradictions, CONTRADICTIONS),
    }
    for context, own in topics.items():
        for name, elsewhere in DECODERS.items():
            for _ in range(n["trials"]):

                def draw(own: list[str] = own, elsewhere: int = elsewhere) -> str:
                    return sentence(words, 8, [*own, *words.sample(WORDS, elsewhere)])

                start = [draw() for _ in range(5)]
                for rule, (stop, threshold) in rules.items():
                    done = diversify(start=start, draw=draw, metric=nli, stop=stop, threshold=threshold)
                    sets.setdefault((name, rule), []).append((context, done))
    yield of_thresholds(sets)
    yield of_relevance(sets, references)


def over_contexts(values: Sequence[float], contexts: Sequence[str]) -> Estimate:
    return mean_estimate(values, Dimensions.of(contexts=list(contexts)))


def of_thresholds(sets: dict[tuple[str, str], list[tuple[str, Diversified]]]) -> Table:
    rows = []
    for (name, rule), done in sets.items():
        contexts = [context for context, _ in done]
        figures = [
            [getattr(one, field) for _, one in done] for field in ("start_score", "end_score", "n_sampled", "overlap")
        ]
        reached = sum(one.reached for _, one in done) / len(done)
        rows.append((name, rule, *(over_contexts(values, contexts) for values in figures), 100 * reached))
    titles = ("Diversity at the start", "at the end", "Responses drawn", "Kept of the first set")
    columns = [
        Column("Decoder", "name"),
        Column("Stops at", "text"),
        *map(Column, titles),
        Column("% reached", digits=1),
    ]
    note = "Diversity is Baseline NLI. At most 20 responses are drawn. Intervals are about new contexts."
    return Table("Diversity Threshold Generation", columns, rows, note)


def of_relevance(sets: dict[tuple[str, str], list[tuple[str, Diversified]]], references: dict[str, list[str]]) -> Table:
    rows = []
    for (name, rule), done in sets.items():
        contexts = [context for context, _ in done]
        before, after = (
            over_contexts([mean_bleu(getattr(one, side), references[context]) for context, one in done], contexts)
            for side in ("start", "end")
        )
        rows.append((name, rule, before, after))
    columns = [Column("Decoder", "name"), Column("Stops at", "text")]
    columns += [Column("BLEU at the start", digits=3), Column("BLEU at the end", digits=3)]
    note = "Against the human references of a set's context, all of them at once; the mean over a set's responses."
    return Table("Relevance against human references", columns, rows, note)


def mean_bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    return sum(sentence_bleu(text, references) for text in texts) / len(texts)
