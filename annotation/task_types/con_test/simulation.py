"""What simulated workers write: different responses, and one response rephrased with small changes."""

from __future__ import annotations

from itertools import product

from annotation.task_types.simulation import SimulatedWorker

WHO = ("nobody", "everybody", "my neighbour", "the old teacher", "her little brother", "some stranger")
DID = ("forgot", "found", "repaired", "painted", "sold", "hid")
WHAT = ("the key", "a blue boat", "their garden", "every letter", "the wrong hat", "my umbrella")
OPENERS = (
    "Well,",
    "Honestly,",
    "Indeed,",
    "Yes,",
    "Really,",
    "Surely,",
    "Somehow,",
    "Apparently,",
    "Certainly,",
    "Again,",
)


def written(worker: SimulatedWorker, page: str, count: int, *, most_words: int, rephrase: str = "") -> list[str]:
    """``count`` different texts. With ``rephrase``: that text, each time with a different word before it.

    Careless workers write a word and a number.
    """
    rng = worker.rng(page)
    if worker.profile == "careless":
        return [f"{'same' if rephrase else 'ok'} {number}" for number in range(1, count + 1)]
    if rephrase:
        texts = [f"{opener} {rephrase}" for opener in rng.sample(OPENERS, count)]
    else:
        texts = [" ".join(words).capitalize() + "." for words in rng.sample(list(product(WHO, DID, WHAT)), count)]
    return _different([" ".join(text.split()[:most_words]) for text in texts])


def _different(texts: list[str]) -> list[str]:
    """The texts, with a number added to those that a low limit has cut to the same words."""
    if len(set(texts)) == len(texts):
        return texts
    return [f"{text.split()[0]} {number}" for number, text in enumerate(texts, start=1)]
