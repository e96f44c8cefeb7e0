"""Sentence embeddings by the packaged model beside sentence-transformers: ``python -m bench.embeddings [DATA]``.

DATA is the folder ``diversity-eval`` (default: ../shared/data/diversity-eval next to the checkout), whose responses are
embedded. If ``--sentences`` are more, they come again with a number behind each. The two programs take turns in one
process, each with its own number of threads. Prints the elapsed and the CPU seconds of each turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from analysis.diversity.set_files import read_sets, responses
from analysis.similarity.embedding import load_embedder, packaged_model

#: Batch sizes of sentence-transformers: its default and a larger one; the faster counts.
BATCHES = (32, 128)


def sentences(folder: Path, wanted: int) -> list[str]:
    """Different texts: the released responses, and from the second round on each with a number behind it."""
    sets = [text for path in sorted(folder.glob("*/*.csv")) for text in responses(read_sets(path), path)]
    different = list(dict.fromkeys(text for texts in sets for text in texts if text.strip()))
    print(f"{len(different):,} different responses in {folder}")
    rounds = (text if turn == 0 else f"{text} {turn}" for turn in count() for text in different)
    return list(islice(rounds, wanted))


def timed(what: str, work: Callable[[], Any]) -> tuple[float, Any]:
    begun, cpu = time.perf_counter(), time.process_time()
    result = work()
    seconds = time.perf_counter() - begun
    print(f"{what:<44}{seconds:>8.1f} s elapsed {time.process_time() - cpu:>8.1f} s CPU", flush=True)
    return seconds, result


def compare(texts: Sequence[str], rounds: int) -> None:
    embed = load_embedder()
    build = import_module("sentence_transformers").SentenceTransformer
    theirs = build(str(packaged_model()), device="cpu", trust_remote_code=False)
    embed(texts[:100])
    theirs.encode(list(texts[:100]))
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        took, rows = timed("this project", lambda: embed(texts))
        seconds.setdefault("ours", []).append(took)
        for size in BATCHES:
            took, expected = timed(
                f"sentence-transformers, batches of {size}",
                lambda size=size: theirs.encode(list(texts), batch_size=size, normalize_embeddings=True),  # type: ignore[misc]
            )
            seconds.setdefault("theirs", []).append(took)
    print(f"largest difference of a number: {np.abs(rows - expected).max():.1e}")
    ours, others = (min(seconds[whose]) for whose in ("ours", "theirs"))
    print(f"{len(texts):,} sentences, the best of each: {ours:.1f} s against {others:.1f} s")


def main() -> None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "diversity-eval"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=beside, help="the released sets' folder")
    parser.add_argument("--sentences", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    compare(sentences(given.folder, given.sentences), given.rounds)


if __name__ == "__main__":
    main()
