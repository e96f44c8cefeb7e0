"""A run that its model cannot finish as asked is refused before anything is generated."""

from __future__ import annotations

from typing import Any

import pytest

from common.problems import Invalid
from generation.backends.base import Generated, NotGenerated
from generation.models import LanguageModel
from generation.runs.lifecycle import create_run
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_file, make_model
from tests.generation.support.tiny_models import opened, request
from tests.generation.support.toy_runs import Toy

TINY = 128


def create(*, context: int | None = 256, **values: Any) -> Any:
    make_model()
    LanguageModel.objects.update(context_length=context)
    file_values: dict[str, Any] = {"contexts": ["One"], "decoders": ["ancestral"], "samples": 1}
    return create_run(file=make_file(**file_values | values))[0]


def problems(**values: Any) -> str:
    with pytest.raises(Invalid) as caught:
        create(**values)
    return str(caught.value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("limits", "length"),
    [
        ({"exact": 300}, "exactly 300 tokens"),
        ({"exact": 256}, "exactly 256 tokens"),
        ({"min_new_tokens": 256, "max_new_tokens": 400}, "at least 256 tokens"),
        ({"min_words": 300, "max_new_tokens": 400, "stop": "sentence"}, "at least 300 words"),
    ],
)
def test_more_tokens_than_the_model_has_are_refused(limits: dict[str, Any], length: str) -> None:
    messages = problems(limits=limits)
    assert length in messages and "toy" in messages and "256 tokens" in messages


@pytest.mark.django_db
def test_what_fits_or_is_not_known_is_created() -> None:
    create(limits={"exact": 255})
    create(limits={"exact": 300}, context=None)
    create(limits={"max_new_tokens": 300})


@pytest.mark.django_db
def test_all_contexts_that_are_too_long_are_listed_at_once() -> None:
    """A token never holds more than one word, so 300 words do not fit into 256 tokens, whatever the tokenizer."""
    contexts = [{"id": f"c{words}", "context": "word " * words} for words in (10, 300, 20, 400, 500)]
    limits = {"exact": 30}
    messages = problems(contexts=contexts, over_long="refuse", limits=limits)
    assert all(f"“{name}”" in messages for name in ("c300", "c400", "c500"))
    assert "“c10”" not in messages and "“c20”" not in messages
    create(contexts=contexts, over_long="cut", limits=limits)


@pytest.mark.django_db
def test_a_priming_text_that_leaves_no_room_is_refused() -> None:
    assert "priming" in problems(priming="word " * 240, limits={"exact": 30})


@pytest.mark.django_db
def test_a_worker_lists_all_contexts_that_its_tokenizer_finds_too_long(everything_installed: None) -> None:
    """They lie in three chunks; nothing is generated."""
    contexts = [{"id": f"c{size}", "context": "x" * size} for size in (40, 5, 60, 50)]
    run = create(contexts=contexts, over_long="refuse", chunk_size=1, context=None)
    toy = Toy(longest=30)
    work_on(run_id=run.pk, worker="w", backend_of=toy.backend_of)
    run.refresh_from_db()
    assert run.state == "failed" and not toy.seen
    assert "refused 3 prompts" in run.message
    assert all(f"“{name}”" in run.message for name in ("c40", "c50", "c60"))


@pytest.mark.parametrize("exact", [100, 120])
def test_a_prompt_is_cut_as_far_as_an_exact_length_needs(exact: int) -> None:
    """The model has 128 tokens."""
    (outcome,) = opened().generate([request("Once upon a time there was a small dog. " * 20, exact=exact)])
    assert isinstance(outcome, Generated)
    assert (outcome.n_tokens, outcome.prompt_tokens, outcome.finish_reason) == (exact, TINY - exact, "length")


def test_an_exact_length_that_cannot_be_is_refused() -> None:
    long = "Once upon a time there was a small dog. " * 5
    fitting, uncut = opened().generate([request("Once", exact=TINY), request(long, exact=120, cut_left=False)])
    assert isinstance(fitting, NotGenerated) and "128" in fitting.reason
    assert isinstance(uncut, NotGenerated) and "120" in uncut.reason


def test_a_text_that_the_context_cut_short_says_so() -> None:
    """200 tokens are asked for, and the model has 128 for the prompt and its text."""
    (outcome,) = opened().generate([request("Once upon a time", "greedy", max_new_tokens=200)])
    assert isinstance(outcome, Generated)
    assert outcome.n_tokens == TINY - outcome.prompt_tokens < 200
    assert outcome.finish_reason == "context"
