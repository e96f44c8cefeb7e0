"""Filling a suggester's pool, and the figures about it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.utils import timezone

from common.problems import Invalid
from generation.decoding.sentences import ends_sentence
from generation.models import Chunk, GenerationRun, ModelWorker, PoolText, RunContext, Sample, Suggester, Suggestion
from generation.suggestions import monitoring, pool_filling
from generation.suggestions.asking import read_suggestions
from generation.suggestions.pool import EVERY_ROUND
from tests.generation.support.toy_suggestions import ask_for, make_model, make_pool, make_suggester
from tests.services import ROOT

pytestmark = pytest.mark.django_db


def make_run(
    *texts: str, decoder: str = "ancestral", model: str = "toy", rounds: tuple[object, ...] = (2,)
) -> GenerationRun:
    """A run with these samples for each context; a context for each round."""
    run = GenerationRun.objects.create(name="pool-run", spec={}, spec_hash="", seed=1, n_wanted=len(texts))
    chunk = Chunk.objects.create(run=run, number=0, model=make_model(model), places=[], n_samples=len(texts))
    for number, round in enumerate(rounds):
        fields = {"story": "It rained.", **({} if round is None else {"round": round})}
        context = RunContext.objects.create(
            run=run, number=number, external_id=f"c{number}", fields=fields, prompt="It rained."
        )
        for index, text in enumerate(texts):
            Sample.objects.create(
                run=run, context=context, model=chunk.model, chunk=chunk, decoder=decoder, number=index, seed=index,
                text=text, n_tokens=5, finish_reason="length", seconds=0.1,
            )  # fmt: skip
    return run


def test_a_run_fills_the_pool_with_cleaned_texts() -> None:
    suggester = make_suggester(word_list="gong")
    run = make_run(
        " It rained. A bell rang in the distance. Then the",
        " A bell rang in the  distance.",
        " Too short.",
        " The gong rang in the distance.",
        " It went on and on without an",
    )

    filled = pool_filling.fill_from_run(suggester=suggester, run=run)

    assert (filled.added, filled.duplicates) == (1, 1)
    assert filled.unusable == Counter(
        {
            "shorter than 20 characters": 1,
            "contains “gong”, which is on the word list": 1,
            "no sentence ends in it": 1,
        }
    )
    text = PoolText.objects.get()
    assert (text.round, text.text) == (2, "A bell rang in the distance.")
    assert text.sample is not None
    assert text.sample.number == 0


@pytest.mark.parametrize(("round", "expected"), [(None, [1, 3, 0]), (4, [4, 4, 4])])
def test_the_round_is_what_is_given_or_what_the_context_says(round: int | None, expected: list[int]) -> None:
    suggester = make_suggester()
    run = make_run("A bell rang in the distance.", rounds=(1, "3", None))

    pool_filling.fill_from_run(suggester=suggester, run=run, round=round)

    assert sorted(PoolText.objects.values_list("round", flat=True)) == sorted(set(expected))


def test_a_run_of_another_decoder_is_refused_with_the_available_ones() -> None:
    suggester = make_suggester(decoder="top_p=0.9")
    run = make_run("A bell rang in the distance.")

    with pytest.raises(Invalid) as refused:
        pool_filling.fill_from_run(suggester=suggester, run=run)

    assert "no samples of toy with top_p=0.9. It has: toy with ancestral." in str(refused.value)
    assert pool_filling.fill_from_run(suggester=suggester, run=run, decoder="ancestral").added == 1


def test_a_decoder_is_found_however_it_is_written() -> None:
    run = make_run("A bell rang in the distance.", decoder="temperature=0.7")
    suggester = make_suggester()

    assert pool_filling.fill_from_run(suggester=suggester, run=run, decoder=" temperature=0.70").added == 1
    with pytest.raises(Invalid, match=r"decoder: 'hot' is not a decoder\. Known: greedy"):
        pool_filling.fill_from_run(suggester=suggester, run=run, decoder="hot")


def test_a_field_that_no_context_has_is_refused() -> None:
    run = make_run("A bell rang in the distance.", rounds=(1, None))
    suggester = make_suggester()

    with pytest.raises(Invalid, match=r"There is no “rund”\. Did you mean “round”\?"):
        pool_filling.fill_from_run(suggester=suggester, run=run, round_field="rund")
    assert not PoolText.objects.exists()


def test_without_a_field_for_the_round_texts_are_for_every_round() -> None:
    run = make_run("A bell rang in the distance.", rounds=(None,))

    pool_filling.fill_from_run(suggester=make_suggester(), run=run)

    assert PoolText.objects.get().round == EVERY_ROUND


def test_an_invalid_round_on_the_command_line_is_not_reported_as_an_error_of_a_context() -> None:
    run = make_run("A bell rang in the distance.")

    with pytest.raises(Invalid, match=r"^round: It is -1\. A round is a whole number up to 1000"):
        pool_filling.fill_from_run(suggester=make_suggester(), run=run, round=-1)


def test_a_context_whose_round_is_not_a_number_is_named() -> None:
    run = make_run("A bell rang in the distance.", rounds=("first",))

    with pytest.raises(Invalid, match="context c0, field round: It is 'first'"):
        pool_filling.fill_from_run(suggester=make_suggester(), run=run)


def test_a_csv_file_fills_the_pool(tmp_path: Path) -> None:
    suggester = make_suggester()
    path = tmp_path / "pool.csv"
    path.write_text(
        'round,text\n1,"A bell rang in the distance. Nobody came to the door."\n,"Then it\nwas quiet again."\n2,Short\n'
    )

    filled = pool_filling.fill_from_csv(suggester=suggester, path=path)

    assert (filled.added, sum(filled.unusable.values())) == (2, 1)
    assert list(PoolText.objects.order_by("round").values_list("round", "text")) == [
        (0, "Then it was quiet again."),
        (1, "A bell rang in the distance. Nobody came to the door."),
    ]
    assert pool_filling.fill_from_csv(suggester=suggester, path=path).duplicates == 2


def test_ends_of_half_sentences_are_refused_and_counted() -> None:
    suggester = make_suggester()
    run = make_run(
        ", suddenly, everything started to shift.",
        "they chose to dive into a world of contradictions.",
        " Somebody said, “He told me: “I am here for you.",
        ' Somebody said, "I am here for you.',
        " A bell rang in the distance.",
    )
    RunContext.objects.update(prompt="Nobody had expected that. Then")

    filled = pool_filling.fill_from_run(suggester=suggester, run=run)

    texts = {'Somebody said, "I am here for you."', "A bell rang in the distance."}
    assert set(suggester.pool.values_list("text", flat=True)) == texts
    assert filled.unusable == Counter(
        {"begins in the middle of a sentence": 2, "has a quotation mark without its partner": 1}
    )


def test_texts_of_a_suggester_that_continues_no_story_need_not_be_sentences(tmp_path: Path) -> None:
    path = tmp_path / "slogans.csv"
    path.write_text("text\nsimply there when you need it\n")
    suggester = make_suggester(template="Product: {prompt}\nSlogan:")

    assert pool_filling.fill_from_csv(suggester=suggester, path=path).added == 1


def test_one_file_can_fill_the_pools_of_several_suggesters(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    lines = ("suggester,text", "a,A bell rang in the distance.", "b,Then it was quiet again.", ",Nobody came to help.")
    path.write_text("\n".join(lines))

    for name in ("a", "b"):
        filled = pool_filling.fill_from_csv(suggester=make_suggester(name), path=path)
        assert (filled.added, sum(filled.unusable.values())) == (2, 1)

    assert filled.unusable == Counter({"is for suggester a": 1})
    assert list(PoolText.objects.filter(suggester__name="b").order_by("pk").values_list("text", flat=True)) == [
        "Then it was quiet again.",
        "Nobody came to help.",
    ]


BAD_FILES = [
    (b"line\nA bell rang in the distance.\n", "It has no column text"),
    (b"", "It has no column text; its first line has nothing."),
    (b"round;text\n1;A bell rang in the distance.\n", "its first line has “round;text”. Write"),
    (b"round,text\nfirst,A bell rang in the distance.\n", "line 2, column round: It is 'first'"),
    (b"round,text\n-1,A bell rang in the distance.\n", "line 2, column round: It is '-1'"),
    (b"text\n\xff\xfe\n", "It is not UTF-8 text"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_a_file_that_cannot_be_used_is_refused_whole(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_bytes(content)

    with pytest.raises(Invalid) as refused:
        pool_filling.fill_from_csv(suggester=make_suggester(), path=path)

    assert message in str(refused.value)
    assert not PoolText.objects.exists()


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="No such file"):
        pool_filling.fill_from_csv(suggester=make_suggester(), path=tmp_path / "none.csv")


def test_what_is_left_in_the_pool_round_by_round() -> None:
    suggester, other = make_suggester("a"), make_suggester("b")
    make_pool(suggester, "One came in.", "Two went out.", round=1)
    make_pool(suggester, "Three stayed on.", round=0)
    row = ask_for(suggester)
    read_suggestions(suggestions=[row.pk], now=row.deadline + timedelta(seconds=1))

    rounds = monitoring.pool_rounds(suggesters=[suggester, other])

    assert [(pool_round.suggester, pool_round.round, pool_round.texts, pool_round.fresh) for pool_round in rounds] == [
        ("a", 0, 1, 1),
        ("a", 1, 2, 1),
    ]


def test_waits_of_writers_are_measured() -> None:
    suggester = make_suggester()
    now = timezone.now()
    Suggestion.objects.bulk_create(
        Suggestion(
            suggester=suggester, key=f"{number}", story="s", prompt="p", seed=1, text="t", state="done",
            asked_at=now, answered_at=now + timedelta(seconds=number), deadline=now, from_pool=number == 20,
        )
        for number in range(21)
    )  # fmt: skip
    ask_for(suggester, "waiting")

    figures = monitoring.waits(suggester=suggester)

    # 21 equally spaced waits of 0 to 20 s: the 95 % point is 19 s (linear interpolation).
    assert (figures.answered, figures.from_pool, figures.failed, figures.median, figures.p95) == (21, 1, 0, 10, 19)
    assert monitoring.waits(suggester=make_suggester("b")).p95 is None
    assert Suggester.objects.count() == 2


def test_a_process_that_is_silent_counts_as_dead() -> None:
    now = timezone.now()
    for name, seconds in (("dead", 16), ("alive", 14)):
        ModelWorker.objects.create(
            name=name, role="suggestions", state="ready", seen_at=now - timedelta(seconds=seconds)
        )
    ModelWorker.objects.create(name="other", role="runs", seen_at=now)

    assert [(process.name, process.alive) for process in monitoring.processes(now=now)] == [
        ("alive", True),
        ("dead", False),
    ]
    assert monitoring.any_alive(now=now)
    assert not monitoring.any_alive(now=now + timedelta(seconds=2))


def test_the_beginnings_of_the_example_lead_to_whole_sentences_for_both_suggesters() -> None:
    """They end a sentence, so the model begins a new one. Each suggester of examples/cyoa.yaml has its own decoder."""
    run = yaml.safe_load((ROOT / "examples" / "cyoa_pool.run.yaml").read_text())
    study = (ROOT / "examples" / "cyoa.yaml").read_text()

    assert all(ends_sentence(context["story"]) for context in run["contexts"])
    assert all(f"--decoder {decoder}\n" in study for decoder in run["decoders"])
    assert len(run["decoders"]) == len(set(run["decoders"])) == 2
