"""log p and log q of every decoder, against references that share nothing with our code.

Two references: the definition written out in float64 over the model's logits from a full pass without a cache
(softmax, truncate, renormalise), and, for which tokens a truncation keeps, transformers' own logits warpers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from generation.backends import sampling
from generation.backends.base import Generated
from generation.backends.batch_rows import begin
from generation.decoding.decoders import Decoder, parse_decoder
from tests.generation.support import reference_sampling
from tests.generation.support.tiny_models import PROMPTS, opened, reference_model, request, smollm2

FloatArray = npt.NDArray[np.float64]
DECODERS = (
    "ancestral",
    "temperature=0.6",
    "temperature=1.7",
    "top_k=1",
    "top_k=7",
    "top_k=30000",
    "top_p=0.1",
    "top_p=0.9",
    "top_p=1",
    "typical=0.2",
    "typical=0.95",
    "temperature=0.7,top_k=20",
    "temperature=1.4,top_p=0.8",
    "temperature=0.8,typical=0.6",
    "min_p=0.1",
    "temperature=1.3,min_p=0.02",
    "top_k=12,top_p=0.8",
    "temperature=0.9,top_k=30,top_p=0.95",
    "repetition_penalty=1.3",
    "top_p=0.9,repetition_penalty=1.2",
    "min_p=0.05,repetition_penalty=0.8",
)

#: The decoders whose distribution depends on the logits alone.
WITHOUT_PENALTY = [name for name in DECODERS if "penalty" not in name]


def by_hand(logits: FloatArray, decoder: Decoder, before: Sequence[int] = ()) -> FloatArray:
    """The decoder's distribution after the tokens ``before``. Holtzman et al. 2020 (top-p), Fan et al. 2018 (top-k),
    Meister et al. 2023 (typical), Nguyen et al. 2024 (min-p), Keskar et al. 2019 (penalty): sort, keep, divide by what
    was kept."""
    scores = logits.astype(np.float64).copy()
    for v in set(before):
        scores[v] = scores[v] / decoder.repetition_penalty if scores[v] > 0 else scores[v] * decoder.repetition_penalty
    scores = scores / decoder.temperature
    p = np.exp(scores - scores.max())
    p /= p.sum()
    order = kept_by_hand(p, decoder)
    q: FloatArray = np.zeros_like(p)
    q[order] = p[order]
    q /= q.sum()
    return q


def kept_by_hand(p: FloatArray, decoder: Decoder) -> list[int]:
    """The tokens that the truncation keeps."""
    likeliest = sorted(range(len(p)), key=lambda v: -p[v])
    if decoder.top_k:
        likeliest = likeliest[: decoder.top_k]
    if decoder.top_p and decoder.top_p < 1:
        return up_to(likeliest, p / p[likeliest].sum(), decoder.top_p)
    if decoder.min_p:
        return [v for v in likeliest if p[v] >= decoder.min_p * p.max()]
    if decoder.typical:
        entropy = -sum(x * math.log(x) for x in p if x > 0)
        nearest = sorted(likeliest, key=lambda v: abs(-math.log(p[v]) - entropy) if p[v] > 0 else math.inf)
        return up_to(nearest, p, decoder.typical)
    return likeliest


def up_to(order: list[int], p: FloatArray, wanted: float) -> list[int]:
    """The first tokens whose probabilities reach this sum."""
    reached = np.cumsum(p[order]) >= wanted
    return order[: int(reached.argmax()) + 1] if reached.any() else order


@pytest.fixture(scope="module")
def reference() -> Any:
    return reference_model()


def logits_after(model: Any, tokens: list[int]) -> FloatArray:
    with torch.no_grad():
        logits: FloatArray = model(torch.tensor([tokens]), use_cache=False).logits[0, -1].double().numpy()
    return logits


@pytest.mark.parametrize("name", DECODERS)
def test_log_p_and_log_q_are_those_by_hand(name: str, reference: Any) -> None:
    backend, decoder = opened(), parse_decoder(name)
    requests = [request(prompt, name, seed=seed, max_new_tokens=8) for seed, prompt in enumerate(PROMPTS * 2)]
    for sent_request, outcome in zip(requests, backend.generate(requests), strict=True):
        tokens = backend.vocabulary.encode(sent_request.prompt)
        log_p = log_q = 0.0
        for number, token in enumerate(outcome.token_ids):
            logits = logits_after(reference, tokens)
            p = by_hand(logits, Decoder())
            if number < sent_request.limits.least:
                logits[0] = -np.inf
            q = by_hand(logits, decoder, tokens)
            assert q[token] > 0
            log_p, log_q = log_p + math.log(p[token]), log_q + math.log(q[token])
            tokens.append(token)
        assert outcome.log_p == pytest.approx(log_p, abs=1e-4)
        assert outcome.log_q == pytest.approx(log_q, abs=1e-4)


def rows_of(name: str, uniforms: list[float]) -> list[Any]:
    rows = []
    for uniform in uniforms:
        row: Any = begin(request(PROMPTS[0], name, min_new_tokens=0), opened().vocabulary)
        row._uniforms = np.array([uniform])
        rows.append(row)
    return rows


def supports(logits: Any, name: str) -> Iterator[set[int]]:
    """Which tokens each of our two samplers can draw: numbers so dense that every kept token is met."""
    uniforms = [(number + 0.5) / 1500 for number in range(1500)]
    ends = torch.tensor([], dtype=torch.long)
    drawn = sampling.draw(logits.expand(len(uniforms), -1), rows_of(name, uniforms), ends)
    yield {token for token, _, _ in drawn}
    yield {reference_sampling.draw(logits[0].numpy(), parse_decoder(name), uniform)[0] for uniform in uniforms}


@pytest.mark.parametrize("name", [name for name in WITHOUT_PENALTY if name != "top_k=30000"])
def test_the_tokens_kept_are_those_of_the_warpers_of_transformers(name: str) -> None:
    torch.manual_seed(3)
    decoder = parse_decoder(name)
    for scale in (1.0, 4.0):
        logits = scale * torch.randn(1, 40)
        scores = TemperatureLogitsWarper(decoder.temperature)(None, logits)
        if decoder.top_k:
            scores = TopKLogitsWarper(decoder.top_k)(None, scores)
        if decoder.top_p and decoder.top_p < 1:
            scores = TopPLogitsWarper(decoder.top_p)(None, scores)
        if decoder.typical:
            scores = TypicalLogitsWarper(decoder.typical)(None, scores)
        if decoder.min_p:
            scores = MinPLogitsWarper(decoder.min_p)(torch.LongTensor([[0]]), scores)
        possible = {int(v) for v in torch.isfinite(scores[0]).nonzero()}
        q = scores.softmax(-1)[0]
        likely = {v for v in possible if q[v] > 0.0015}
        for support in supports(logits, name):
            assert likely <= support <= possible


def test_a_repetition_penalty_is_that_of_transformers() -> None:
    torch.manual_seed(3)
    name = "greedy,repetition_penalty=1.5"
    row: Any = begin(request(PROMPTS[0], name, min_new_tokens=0), opened().vocabulary)
    row.tokens = [7, 7, 11]
    logits = 4 * torch.randn(1, len(opened().vocabulary.encode(PROMPTS[0])) + 400)
    seen = torch.tensor([[*row.prompt, *row.tokens]])
    assert int(seen.max()) < logits.shape[1]
    logits[0, row.prompt[0]] = logits.max() + 0.5  # the likeliest token, which the penalty makes less likely
    scores = RepetitionPenaltyLogitsProcessor(1.5)(seen, logits.clone())
    ((token, log_p, log_q),) = sampling.draw(logits, [row], torch.tensor([], dtype=torch.long))
    assert token == int(scores.argmax()) != row.prompt[0]
    assert log_p == pytest.approx(float(logits.log_softmax(-1)[0, token]), abs=1e-4)  # that of the model itself
    assert log_q is None


@pytest.mark.parametrize("name", WITHOUT_PENALTY)
def test_both_samplers_draw_the_same(name: str) -> None:
    torch.manual_seed(5)
    logits = 3 * torch.randn(64, 5000)
    uniforms = np.random.default_rng(1).random(64).tolist()
    many = sampling.draw(logits, rows_of(name, uniforms), torch.tensor([], dtype=torch.long))
    for number, (token, log_p, log_q) in enumerate(many):
        one = reference_sampling.draw(logits[number].numpy(), parse_decoder(name), uniforms[number])
        assert one[0] == token
        assert one[1] == pytest.approx(log_p, abs=1e-4)
        assert one[2] == pytest.approx(log_q, abs=1e-4)


def drawn_from_a_slope(name: str, depth: float, uniform: float) -> tuple[Any, tuple[int, float, float]]:
    """Logits that rise evenly to the last token but one; the last cannot be drawn."""
    logits = torch.linspace(-depth, 0, 3001)[None].clone()
    logits[0, -1] = -torch.inf
    (drawn,) = sampling.draw(logits, rows_of(name, [uniform]), torch.tensor([], dtype=torch.long))
    token, log_p, log_q = drawn
    assert log_q is not None
    assert math.isfinite(log_p) and math.isfinite(log_q)
    return logits[0].numpy(), (token, log_p, log_q)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("name", DECODERS)
def test_the_ends_of_the_range_draw_a_token_that_is_kept(name: str, uniform: float) -> None:
    logits, (token, _, _) = drawn_from_a_slope(name, 40, uniform)
    assert token == reference_sampling.draw(logits, parse_decoder(name), uniform)[0] or uniform > 0.5
    assert uniform < 0.5 or token == 2999 or "typical" in name


@pytest.mark.parametrize("name", DECODERS)
def test_only_tokens_too_unlikely_for_a_number_can_be_left_out(name: str) -> None:
    """A token of a share below 1e-37 has no float32 of full precision."""
    logits, (token, _, _) = drawn_from_a_slope(name, 300, 0.0)
    q = by_hand(logits.astype(np.float64), parse_decoder(name))
    assert q[token] > 0 and q[:token].sum() < 1e-37


@pytest.mark.parametrize("name", ["top_p=0.5", "top_p=0.95", "typical=0.5", "typical=0.95"])
def test_rows_that_need_more_of_the_vocabulary_get_it_and_the_others_stay(name: str) -> None:
    """Steep rows, whose mass lies in a few tokens, beside flat ones, whose mass lies in thousands."""
    torch.manual_seed(12)
    logits = torch.randn(12, 20000) * torch.tensor([0.1, 8.0, 2.0] * 4)[:, None]
    uniforms = np.random.default_rng(2).random(12).tolist()
    for number, drawn in enumerate(sampling.draw(logits, rows_of(name, uniforms), torch.tensor([], dtype=torch.long))):
        one = reference_sampling.draw(logits[number].numpy(), parse_decoder(name), uniforms[number])
        if drawn[0] == one[0]:
            assert drawn[1:] == pytest.approx(one[1:], abs=1e-4)
            continue
        # Sums of thousands of shares in float32 may put u into a neighbouring token.
        q = by_hand(logits[number].numpy().astype(np.float64), parse_decoder(name))
        before = q[: drawn[0]].sum()
        assert q[drawn[0]] > 0
        assert before - 1e-4 < uniforms[number] < before + q[drawn[0]] + 1e-4


@pytest.mark.parametrize("name", ["ancestral", "temperature=0.7", "top_k=10", "top_p=0.8", "typical=0.6"])
def test_first_tokens_are_drawn_as_often_as_they_should_be(name: str, reference: Any) -> None:
    """Chi-square of 3,000 seeds against q by hand; tokens expected under five times are put together."""
    backend, n = opened(), 3000
    outcomes = backend.generate([request(decoder=name, seed=seed, exact=1) for seed in range(n)])
    seen = Counter(outcome.token_ids[0] for outcome in outcomes)
    logits = logits_after(reference, backend.vocabulary.encode(PROMPTS[0]))
    logits[0] = -np.inf
    expected = n * by_hand(logits, parse_decoder(name))
    often = [v for v in range(len(expected)) if expected[v] >= 5]
    observed = [seen[v] for v in often]
    frequencies = [expected[v] for v in often]
    if n - sum(frequencies) > 1e-6:
        observed, frequencies = [*observed, n - sum(observed)], [*frequencies, n - sum(frequencies)]
    assert sum(observed) == pytest.approx(sum(frequencies))
    assert stats.chisquare(observed, frequencies).pvalue > 0.001


def mean_log_q(name: str, prompts: tuple[str, ...] = PROMPTS[:2], samples: int = 150) -> float:
    requests = [request(prompt, name, seed=seed, exact=8) for prompt in prompts for seed in range(samples)]
    return -float(np.mean([outcome.log_q for outcome in opened().generate(requests)]))


def test_no_truncated_decoder_has_more_entropy_than_ancestral_sampling() -> None:
    """Conditional entropy as the mean of -log q (Zhang et al. 2020, section 3)."""
    ancestral = mean_log_q("ancestral")
    for name in ("top_k=5", "top_k=40", "top_p=0.5", "top_p=0.9", "typical=0.3", "typical=0.9", "temperature=0.5"):
        assert mean_log_q(name) <= ancestral


@pytest.mark.slow
@pytest.mark.long
def test_with_a_real_model_diversity_rises_with_the_temperature() -> None:
    """distinct-2 of twelve texts a context over a sweep: Tevet & Berant 2021 take temperature as the diversity
    parameter. Spearman's rho over eight temperatures."""
    backend = smollm2()
    temperatures = np.linspace(0.2, 1.2, 8)
    requests = [
        request(prompt, f"temperature={temperature}", seed=seed, exact=16)
        for temperature in temperatures
        for prompt in ("The old lighthouse keeper", "In the morning the city")
        for seed in range(6)
    ]
    word_lists = [outcome.text.split() for outcome in backend.generate(requests) if isinstance(outcome, Generated)]
    scores = []
    for first in range(0, len(word_lists), 12):
        pairs = [pair for words in word_lists[first : first + 12] for pair in pairwise(words)]
        scores.append(len(set(pairs)) / len(pairs))
    rho = stats.spearmanr(temperatures, scores).statistic
    print(f"Spearman's rho of distinct-2 with temperature: {rho:.3f}")
    assert rho > 0.9


@pytest.mark.parametrize(("decoder", "share"), [("ancestral", 1.0), ("top_p=0.9", 0.9), ("temperature=1.2", 1.0)])
def test_log_p_and_the_nucleus_of_a_large_vocabulary(decoder: str, share: float) -> None:
    """150,000 tokens, whose softmax in float32 may sum to 1 ± 2e-5. Expected in float64, by torch's own log_softmax."""
    torch.manual_seed(5)
    logits = 1.5 * torch.randn(8, 150_000)
    uniforms = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.99]
    rows: Any = [
        SimpleNamespace(request=SimpleNamespace(decoder=parse_decoder(decoder)), end_barred=False, uniform=uniform)
        for uniform in uniforms
    ]
    drawn = sampling.draw(logits, rows, torch.tensor([0]))
    tokens = torch.tensor([token for token, _, _ in drawn])
    exact = logits.double().log_softmax(-1)
    picked = exact.gather(-1, tokens[:, None])[:, 0]
    assert torch.tensor([p for _, p, _ in drawn]).double().sub(picked).abs().max() < 3e-6
    if decoder == "top_p=0.9":
        ordered = exact.exp().sort(-1, descending=True).values.cumsum(-1)
        least = ordered.gather(-1, (ordered < share).sum(-1, keepdim=True))[:, 0]
        log_q = torch.tensor([q for _, _, q in drawn], dtype=torch.float64)
        assert (log_q - (picked - least.log())).abs().max() < 3e-6


@pytest.mark.parametrize("largest", [True, False])
def test_one_sort_of_everything_reaches_the_mass_where_growing_sorts_do(largest: bool) -> None:
    """What a GPU does and what a CPU does. Many tokens tie, and some masses need most of the vocabulary."""
    torch.manual_seed(3)
    weights = (2 * torch.randn(40, 3000)).round().softmax(-1)
    order = weights if largest else (weights.log() + 5).abs()
    masses = torch.rand(40, 1, dtype=torch.float64) * weights.sum(-1, keepdim=True, dtype=torch.float64)
    growing = sampling._at_mass(order, weights, masses, largest=largest)
    assert torch.equal(sampling._at_mass_of_all(order, weights, masses, largest=largest), growing)
