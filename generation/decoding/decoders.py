"""Decoders as data: how the next token is drawn from a language model's distribution.

A decoder has one canonical name (``greedy``, ``top_p=0.9``, ``temperature=0.7,top_k=40``), which runs, exports and
reports use; ``parse_decoder`` reads the name. Values are rounded to six significant digits, so that name and decoder
always agree. Sources of the rules: top-k, Fan et al. 2018; top-p (nucleus), Holtzman et al. 2020; locally typical,
Meister et al. 2023; min-p, Nguyen et al. 2024; repetition penalty, Keskar et al. 2019 (CTRL).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

MOST_SAMPLED_K = 1_000_000
MOST_BEAMS = 64
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 10.0
MOST_SWEEP_STEPS = 1000
LEAST_PENALTY, MOST_PENALTY = 0.1, 10.0
LARGEST_LENGTH_PENALTY = 10.0
#: The truncations, in the order in which names have them and backends apply them.
TRUNCATIONS = ("top_k", "top_p", "typical", "min_p")


class DecoderError(ValueError):
    """A decoder that is not valid. The message gives the problem and what is accepted."""


@dataclass(frozen=True)
class Decoder:
    """One way to draw tokens. The repetition penalty is applied first, then the temperature, then the truncation, if
    there is one; with top_k and top_p, top_p is of what top_k keeps.

    ``beams`` > 1 or ``greedy`` draw nothing: they have no distribution to draw from, so their log q is undefined.
    ``n_best``: how many of a beam search's texts are kept, the best first; ``length_penalty``: they are ordered by log
    p divided by their number of tokens to this power. ``min_p`` keeps the tokens that are at least this share as likely
    as the likeliest. ``repetition_penalty``: the logits of tokens that are in the prompt or the text are divided by it
    if positive, else multiplied.
    """

    greedy: bool = False
    beams: int = 1
    n_best: int = 1
    length_penalty: float = 1.0
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    typical: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        for name in ("temperature", "repetition_penalty", "length_penalty"):
            object.__setattr__(self, name, _six_digits(getattr(self, name)))
        for name in ("top_p", "typical", "min_p"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _six_digits(getattr(self, name)))
        self._check_what_goes_together()
        if not LEAST_PENALTY <= self.repetition_penalty <= MOST_PENALTY:
            raise DecoderError(
                f"repetition_penalty is {_text(self.repetition_penalty)}; use {LEAST_PENALTY} to {MOST_PENALTY:g}. 1 "
                "changes nothing."
            )
        if not LEAST_TEMPERATURE <= self.temperature <= MOST_TEMPERATURE:
            raise DecoderError(
                f"temperature is {_text(self.temperature)}; use {LEAST_TEMPERATURE} to {MOST_TEMPERATURE:g}. "
                "For temperature 0, use greedy."
            )
        if self.top_k is not None and (not _is_whole(self.top_k) or not 1 <= self.top_k <= MOST_SAMPLED_K):
            raise DecoderError(f"top_k is {self.top_k!r}; use a whole number from 1 to {MOST_SAMPLED_K}.")
        for name in ("top_p", "typical", "min_p"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise DecoderError(f"{name} is {_text(value)}; use a number above 0 and at most 1.")
        if not _is_whole(self.beams) or not 1 <= self.beams <= MOST_BEAMS:
            raise DecoderError(f"beam is {self.beams!r}; use a whole number from 2 to {MOST_BEAMS}.")
        self._check_search()

    def _check_search(self) -> None:
        if self.beams == 1 and (self.n_best != 1 or self.length_penalty != 1.0):
            name = "n_best" if self.n_best != 1 else "length_penalty"
            raise DecoderError(f"{name} belongs to a beam search: write it with beam, as in beam=10,n_best=5.")
        if not _is_whole(self.n_best) or not 1 <= self.n_best <= self.beams:
            raise DecoderError(
                f"n_best is {self.n_best!r} and beam is {self.beams}: a search has as many texts as beams. Use 1 to "
                f"{self.beams}, or more beams."
            )
        if not -LARGEST_LENGTH_PENALTY <= self.length_penalty <= LARGEST_LENGTH_PENALTY:
            raise DecoderError(
                f"length_penalty is {_text(self.length_penalty)}; use {-LARGEST_LENGTH_PENALTY:g} to "
                f"{LARGEST_LENGTH_PENALTY:g}. Above 0 favours long texts, below 0 short ones; 1 is usual."
            )

    def _check_what_goes_together(self) -> None:
        truncations = self.truncations
        if len(truncations) > 1 and truncations != ["top_k", "top_p"]:
            raise DecoderError(
                f"{' and '.join(truncations)} together: a decoder takes one of {', '.join(TRUNCATIONS)}, or top_k with "
                "top_p."
            )
        alone = self.greedy or self.beams != 1
        if alone and (truncations or self.temperature != 1.0 or (self.greedy and self.beams != 1)):
            raise DecoderError(
                f"greedy and beam draw nothing at random, so they take no temperature, {' or '.join(TRUNCATIONS)}."
            )
        if self.beams != 1 and self.repetition_penalty != 1.0:
            raise DecoderError("beam takes no repetition_penalty; greedy does.")

    @property
    def samples(self) -> bool:
        """Whether it draws at random: two seeds can give different texts, and log q is defined."""
        return not self.greedy and self.beams == 1

    @property
    def truncations(self) -> list[str]:
        return [name for name in TRUNCATIONS if getattr(self, name) is not None]

    @property
    def name(self) -> str:
        """The canonical name, which `parse_decoder` reads back."""
        if self.beams > 1:
            n_best = f",n_best={self.n_best}" if self.n_best > 1 else ""
            penalty = f",length_penalty={_text(self.length_penalty)}" if self.length_penalty != 1.0 else ""
            return f"beam={self.beams}{n_best}{penalty}"
        parts = ["greedy"] if self.greedy else []
        parts += [f"temperature={_text(self.temperature)}"] if self.temperature != 1.0 else []
        parts += [f"{key}={_text(getattr(self, key))}" for key in self.truncations]
        if self.repetition_penalty != 1.0:
            parts.append(f"repetition_penalty={_text(self.repetition_penalty)}")
        return ",".join(parts) or "ancestral"

    @property
    def parameter(self) -> tuple[str, float] | None:
        """The parameter and its value if there is exactly one: the axis of a sweep."""
        named = [part.split("=") for part in self.name.split(",") if "=" in part]
        return (named[0][0], float(named[0][1])) if len(named) == 1 else None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Limits:
    """When a text ends.

    ``exact`` tokens override ``min_new_tokens`` and ``max_new_tokens``: the end-of-text token is then never drawn
    (Zhang et al. 2020 use exactly 30 tokens). ``stop="sentence"`` ends a text at its first sentence end at or after
    ``min_words`` words; ``min_words`` (detection studies: 100) counts words between spaces. A text also ends
    before the first of ``stop_strings`` in it.
    """

    max_new_tokens: int = 60
    min_new_tokens: int = 1
    exact: int | None = None
    stop: str = ""
    min_words: int = 0
    stop_strings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        strings = self.stop_strings
        if isinstance(strings, str) or not all(isinstance(string, str) and string for string in strings):
            raise DecoderError(f'stop_strings is {strings!r}; use a list of texts that are not empty, such as ["###"].')
        object.__setattr__(self, "stop_strings", tuple(strings))
        for name in ("max_new_tokens", "min_new_tokens", "exact", "min_words"):
            value, least = getattr(self, name), 0 if name in ("min_words", "min_new_tokens") else 1
            if value is not None and (not _is_whole(value) or not least <= value <= 100_000):
                raise DecoderError(f"{name} is {value!r}; use a whole number from {least} to 100000.")
        if self.stop not in ("", "sentence"):
            raise DecoderError(f"stop is {self.stop!r}; use 'sentence' or nothing.")
        if self.exact is None and self.min_new_tokens > self.max_new_tokens:
            raise DecoderError(
                f"min_new_tokens ({self.min_new_tokens}) is above max_new_tokens ({self.max_new_tokens})."
            )
        if self.exact is not None and (self.stop or self.stop_strings):
            raise DecoderError(
                "An exact number of tokens cannot also stop at a sentence end or a text; give one of the two."
            )

    def as_json(self) -> dict[str, Any]:
        """The limits as they are stored; ``Limits(**…)`` reads them back. No stop strings, no key."""
        values = asdict(self)
        strings = values.pop("stop_strings")
        return values | ({"stop_strings": list(strings)} if strings else {})

    @property
    def most(self) -> int:
        return self.exact or self.max_new_tokens

    @property
    def least(self) -> int:
        return self.exact or self.min_new_tokens

    @property
    def needed(self) -> int:
        """The fewest tokens that a text of these limits can have. Every word is a token or more."""
        return self.exact or min(max(self.min_new_tokens, self.min_words, 1), self.most)

    def reserved(self, context: int) -> int:
        """How many tokens of a model's context are for the text: all that are asked for, or half the context if that is
        less, but at least those that the text needs."""
        return max(self.needed, min(self.most, context // 2))

    @property
    def shortest(self) -> str:
        """The least length, in words."""
        if self.exact is not None:
            return f"exactly {self.exact} tokens"
        words = self.min_words > self.min_new_tokens
        return f"at least {self.min_words} words" if words else f"at least {self.min_new_tokens} tokens"


def parse_decoder(text: str) -> Decoder:
    """The decoder with this name. Raises DecoderError that names the part that cannot be read."""
    text = text.strip()
    if text == "ancestral":
        return Decoder()
    values: dict[str, Any] = {}
    for part in text.split(","):
        if part.strip() == "greedy" and not values:
            values["greedy"] = True
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        field = {"beam": "beams", "beams": "beams"}.get(key, key)
        accepted = ("temperature", *TRUNCATIONS, "beams", "n_best", "length_penalty", "repetition_penalty")
        if not equals or field not in accepted:
            raise DecoderError(
                f"{part.strip()!r} is not a decoder. Known: greedy, ancestral, temperature=T, top_k=K, top_p=P, "
                "typical=P, min_p=P, beam=N, repetition_penalty=R. Several can be given with commas between them: "
                "temperature=T, one of top_k, top_p, typical and min_p (or top_k and top_p), repetition_penalty=R; "
                "or beam=N, n_best=K, length_penalty=L."
            )
        if field in values:
            raise DecoderError(f"{text!r} gives {key} twice.")
        try:
            number = float(value)
        except ValueError:
            raise DecoderError(f"{field}={value}: {value!r} is not a number.") from None
        if not math.isfinite(number):
            raise DecoderError(f"{field}={value}: it takes a number that is finite.")
        is_count = field in ("top_k", "beams", "n_best")
        if is_count and number != int(number):
            raise DecoderError(f"{field}={value}: it takes a whole number.")
        if field == "beams" and number < 2:
            raise DecoderError(f"beam={value}: a beam takes 2 or more; for one, use greedy.")
        values[field] = int(number) if is_count else number
    return Decoder(**values)


def expand_decoders(entries: Sequence[Any]) -> list[Decoder]:
    """The decoders in a run file's list: names, and sweeps such as ``{temperature: {from: 0.2, to: 1.2, steps: 100}}``.

    A sweep accepts ``scale: linear`` (default) or ``log``. Whole-number parameters are rounded, and each value appears
    once. The order does not change, and repeats are dropped. Raises DecoderError that names the entry.
    """
    decoders: dict[Decoder, None] = {}
    if isinstance(entries, (str, Mapping)) or not isinstance(entries, Sequence) or not entries:
        raise DecoderError("decoders takes a list with at least one decoder, such as [greedy, top_p=0.9].")
    for number, entry in enumerate(entries, start=1):
        try:
            if isinstance(entry, str):
                decoders[parse_decoder(entry)] = None
                continue
            if not isinstance(entry, Mapping) or not entry:
                raise DecoderError(f"{entry!r} is neither a decoder's name nor a sweep.")
            swept = [key for key, value in entry.items() if isinstance(value, Mapping)]
            if len(swept) != 1:
                raise DecoderError("a sweep gives from, to and steps for exactly one parameter.")
            fixed = [f"{key}={value}" for key, value in entry.items() if key != swept[0]]
            for value in _sweep(swept[0], entry[swept[0]]):
                decoders[parse_decoder(",".join([*fixed, f"{swept[0]}={_text(value)}"]))] = None
        except DecoderError as error:
            raise DecoderError(f"decoders, entry {number}: {error}") from None
    return list(decoders)


def _sweep(parameter: str, sweep: Mapping[str, Any]) -> list[float]:
    unknown = set(sweep) - {"from", "to", "steps", "scale"}
    if unknown or not {"from", "to", "steps"} <= set(sweep):
        raise DecoderError(f"the sweep of {parameter} takes from, to, steps and scale, not {sorted(map(str, sweep))}.")
    low, high, steps, scale = sweep["from"], sweep["to"], sweep["steps"], sweep.get("scale", "linear")
    if not _is_finite(low) or not _is_finite(high):
        raise DecoderError(f"the sweep of {parameter} goes from {low!r} to {high!r}; both take a number.")
    if not _is_whole(steps) or not 2 <= steps <= MOST_SWEEP_STEPS:
        raise DecoderError(f"steps is {steps!r}; a sweep takes 2 to {MOST_SWEEP_STEPS} steps.")
    if scale not in ("linear", "log"):
        raise DecoderError(f"scale is {scale!r}; use linear or log.")
    if low >= high or (scale == "log" and low <= 0):
        raise DecoderError(
            f"the sweep of {parameter} goes from {low} to {high}; from is below to, and above 0 for log."
        )
    shares = [step / (steps - 1) for step in range(steps)]
    if scale == "log":
        values = [math.exp(math.log(low) + share * (math.log(high) - math.log(low))) for share in shares]
    else:
        values = [low + share * (high - low) for share in shares]
    values[0], values[-1] = low, high
    return [round(value) for value in values] if parameter in ("top_k", "beam", "beams", "n_best") else values


def _six_digits(value: Any) -> float:
    if not _is_finite(value):
        raise DecoderError(f"{value!r} is not a finite number.")
    return float(f"{value:.6g}")


def _is_finite(value: Any) -> bool:
    """Whether this is a number that a float can hold."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _text(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
