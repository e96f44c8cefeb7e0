"""The suggester process, turn by turn in this process, with a toy for a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from generation.backends.base import BackendError, ModelSpec, NoMemory, NotGenerated, Request
from generation.decoding.seeds import draw_seed
from generation.models import ModelWorker, Suggester, Suggestion
from generation.suggestions import lanes, serving, suggester_process
from generation.suggestions.asking import ask_suggesters, cancel_suggestions, read_suggestions
from generation.suggestions.definitions import change_suggester
from generation.suggestions.suggester_process import LEASE, Pulse, SuggesterProcess
from tests.generation.support.toy_suggestions import ToyShop, ask_for, make_pool, make_suggester, toy_text
from tests.services import wait_for

# Threads open models and keep leases, each on a separate connection.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggester_process, "REFRESH_SECONDS", 0.01)
    monkeypatch.setattr(suggester_process, "PULSE_SECONDS", 0.05)
    monkeypatch.setattr(lanes, "FIRST_PAUSE", 0.05)


def ready(shop: ToyShop, **options: Any) -> SuggesterProcess:
    """A process whose models are loaded; its turns are the test's."""
    process = SuggesterProcess(open_backend=shop, poll=0, **options)

    def loaded() -> bool:
        process.turn()
        return bool(process.lanes) and all(lane.state == "ready" for lane in process.lanes.values())

    wait_for(loaded, "the models")
    return process


def turns(process: SuggesterProcess, until: Any, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        process.turn()
        if until():
            return
    raise AssertionError(f"not within {seconds} s: {process.message()}")


def ended(*rows: Suggestion) -> bool:
    return not Suggestion.objects.filter(pk__in=[row.pk for row in rows], state="waiting").exists()


def test_it_returns_everything_needed_to_generate_it_again() -> None:
    row = ask_for(make_suggester(decoder="top_p=0.9", limits={"max_new_tokens": 20}))
    shop = ToyShop()
    process = ready(shop)

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    request = shop.engine().added[-1][0]
    assert row.raw_text == toy_text(request)
    assert row.text == row.raw_text.strip()
    assert (request.prompt, request.seed, request.decoder.name) == ("It rained.", row.seed, "top_p=0.9")
    assert row.parameters["model"] == {
        "name": "toy", "backend": "transformers", "source": "toy", "revision": "", "dtype": "auto", "device": "auto",
        "base_url": "", "chat": False, "options": {},
    }  # fmt: skip
    assert row.parameters | {"versions": {}, "model": {}} == {
        "model": {}, "dtype": "toy", "device": "nowhere", "decoder": "top_p=0.9", "keep": 0, "refused": [],
        "seed": row.seed,
        "limits": {"max_new_tokens": 20, "min_new_tokens": 1, "exact": None, "stop": "", "min_words": 0},
        "finish_reason": "end", "seconds": 0.01, "prompt_tokens": 5, "cut_tokens": 0, "versions": {}, "weights": {},
    }  # fmt: skip
    assert (row.n_tokens, row.log_p, row.log_q, row.tries) == (8, -16.0, -12.0, 1)
    assert row.leased_by == ""
    assert row.started_at is not None


def test_suggesters_of_one_model_share_its_batches_and_a_pair_is_added_at_once() -> None:
    a, b = make_suggester("a"), make_suggester("b", decoder="temperature=0.5")
    shop = ToyShop()
    process = ready(shop)
    rows = [
        row
        for number in range(5)
        for row in ask_suggesters(
            suggesters=[a, b], key=f"{number}", story_fields={"story": f"Story {number}."}, round=1, seed=number
        )
    ]

    turns(process, lambda: ended(*rows))

    assert len(shop.opened) == 1
    assert max(shop.engine().batches) == 10
    added = shop.engine().added[-1]
    assert [request.prompt for request in added] == [f"Story {number}." for number in range(5) for _ in "ab"]
    assert len({row.text for row in Suggestion.objects.all()}) == 10


def test_a_request_joins_while_others_are_being_written() -> None:
    suggester = make_suggester()
    shop = ToyShop()
    process = ready(shop)
    first = ask_for(suggester, "first")
    for _ in range(3):
        process.turn()
    second = ask_for(suggester, "second")

    turns(process, lambda: ended(first, second))

    batches = shop.engine().batches
    assert batches[batches.index(2) - 1] == 1
    rows = [Suggestion.objects.get(key=key) for key in ("first", "second")]
    assert rows[0].answered_at < rows[1].answered_at  # type: ignore[operator]


def test_no_more_are_taken_than_the_batch_has_room_for() -> None:
    suggester = make_suggester()
    rows = [ask_for(suggester, f"{number}") for number in range(5)]
    shop = ToyShop()
    process = ready(shop, rows=2)
    process.turn()

    assert Suggestion.objects.exclude(leased_by="").count() == 2
    turns(process, lambda: ended(*rows))
    assert max(shop.engine().batches[5:]) == 2


def test_several_models_take_turns() -> None:
    a, b = make_suggester("a", model="one"), make_suggester("b", model="two")
    shop = ToyShop()
    process = ready(shop)
    before = {name: len(shop.engine(name).batches) for name in ("one", "two")}
    rows = ask_suggesters(suggesters=[a, b], key="k", story_fields={"story": "x"}, round=1, seed=1)

    turns(process, lambda: ended(*rows))

    steps = {name: len(shop.engine(name).batches) - count for name, count in before.items()}
    assert steps["one"] == steps["two"]


def forbidding(word: str, times: int) -> Any:
    """A script that holds the word in its first draws."""
    drawn: list[int] = []

    def script(request: Request) -> str | NotGenerated:
        if request.prompt != "It rained.":
            return "Warm."
        drawn.append(request.seed)
        return f"All at once the {word if len(drawn) <= times else 'bell'} rang."

    script.drawn = drawn  # type: ignore[attr-defined]
    return script


def test_a_text_with_a_forbidden_word_is_drawn_again_with_the_next_seed() -> None:
    row = ask_for(make_suggester(word_list="gong"))
    script = forbidding("gong", 2)
    process = ready(ToyShop(script))

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.text, row.tries, row.from_pool) == ("All at once the bell rang.", 3, False)
    assert script.drawn == [row.seed, draw_seed(row.seed, 1), draw_seed(row.seed, 2)]
    assert row.parameters["seed"] == script.drawn[2]
    assert [draw["seed"] for draw in row.parameters["refused"]] == script.drawn[:2]
    assert row.parameters["refused"][0]["text"] == "All at once the gong rang."
    assert "word list" in row.parameters["refused"][0]["why"]


def test_what_the_model_wrote_is_stored_as_it_was_beside_what_the_writer_sees() -> None:
    row = ask_for(make_suggester())
    raw = ' 16. "The bell rang at noon. Nobody heard it," she said.'
    process = ready(ToyShop(lambda request: raw))

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.text, row.raw_text) == ('"The bell rang at noon."', raw)


@pytest.mark.parametrize(("decoder", "tries"), [("ancestral", 3), ("greedy", 1)])
def test_when_every_try_is_of_no_use_the_pool_steps_in_at_once(decoder: str, tries: int) -> None:
    suggester = make_suggester(word_list="gong", decoder=decoder)
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    process = ready(ToyShop(forbidding("gong", 99)))

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.from_pool, row.tries, row.raw_text) == (True, tries, "All at once the gong rang.")
    assert row.message == f"No usable suggestion in {tries} tries: contains “gong”, which is on the word list."
    assert row.answered_at < row.deadline  # type: ignore[operator]


def test_a_prompt_that_the_model_refuses_goes_to_the_pool_without_another_try() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    process = ready(ToyShop(lambda request: NotGenerated("too long.") if request.prompt == "It rained." else "Warm."))

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.from_pool, row.tries, row.message) == (True, 1, "Model toy: too long.")


def test_a_decoder_that_the_model_does_not_support_leads_to_the_pool() -> None:
    suggester = make_suggester(decoder="beam=4")
    make_pool(suggester, "A bell rang in the distance.")
    shop = ToyShop()
    process = ready(shop)
    shop.opened["toy"].refuses = "This server knows no beams."
    row = ask_for(suggester)

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.from_pool, row.message) == (True, "Model toy: This server knows no beams.")


def test_work_in_progress_is_not_started_again_when_its_lease_runs_out() -> None:
    row = ask_for(make_suggester())
    shop = ToyShop()
    process = ready(shop)
    turns(process, lambda: process.busy)

    Suggestion.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert row.tries == 1
    assert [len(requests) for requests in shop.engine().added] == [1, 4, 1]


def test_cancelled_requests_leave_the_engine() -> None:
    row = ask_for(make_suggester(limits={"max_new_tokens": 4000}))
    shop = ToyShop(lambda request: "word " * 5000, step_seconds=0.001)
    process = ready(shop)
    turns(process, lambda: process.busy)

    cancel_suggestions(suggestions=[row.pk])
    turns(process, lambda: not process.busy)

    assert [key for key, _ in shop.engine().cancelled] == [row.pk]


def leave(row: Suggestion) -> None:
    cancel_suggestions(suggestions=[row.pk])


def get_a_text_from_the_pool(row: Suggestion) -> None:
    read_suggestions(suggestions=[row.pk], now=row.deadline + timedelta(seconds=1))


def wait_past_the_deadline(row: Suggestion) -> None:
    Suggestion.objects.filter(pk=row.pk).update(deadline=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("ends", [leave, get_a_text_from_the_pool, wait_past_the_deadline])
def test_nothing_is_computed_for_a_writer_who_needs_no_text_any_more(
    ends: Callable[[Suggestion], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They leave between the moment when the request is claimed and the one when its first token would be made."""
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    shop = ToyShop()
    process = ready(shop)
    steps = len(shop.engine().batches)
    row, claim = ask_for(suggester), serving.claim

    def claim_and_end(**values: Any) -> list[Suggestion]:
        claimed = claim(**values)
        for suggestion in claimed:
            ends(suggestion)
        return claimed

    monkeypatch.setattr(serving, "claim", claim_and_end)
    for _ in range(3):
        process.turn()

    assert [key for key, _ in shop.engine().cancelled] == [row.pk]
    assert shop.engine().batches[steps:] == []
    row.refresh_from_db()
    assert row.leased_by == ""


def test_a_late_text_is_kept() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    process = ready(ToyShop())
    turns(process, lambda: process.busy)
    read_suggestions(suggestions=[row.pk], now=row.deadline + timedelta(seconds=1))

    turns(process, lambda: not process.busy)

    row.refresh_from_db()
    assert row.text == "A bell rang in the distance."
    assert row.late_text == row.raw_text.strip() != ""


def test_an_engine_that_fails_is_opened_again_and_the_request_is_answered() -> None:
    row = ask_for(make_suggester())
    shop = ToyShop()
    process = ready(shop)
    backend = shop.opened["toy"]
    shop.engine().broken = RuntimeError("The engine cannot continue.")

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.tries, row.state) == (2, "done")
    assert backend.closed
    assert shop.n_opened == 2


def test_a_broken_device_ends_the_process_and_the_next_one_answers() -> None:
    row = ask_for(make_suggester())
    shop = ToyShop()
    process = ready(shop)
    shop.engine().broken = RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(SystemExit, match="The device failed"):
        turns(process, lambda: ended(row))
    turns(ready(ToyShop()), lambda: ended(row))

    row.refresh_from_db()
    assert (row.tries, row.state) == (2, "done")


def test_a_suggestion_that_always_fails_comes_from_the_pool() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)

    def script(request: Request) -> str:
        if request.prompt == "It rained.":
            raise RuntimeError("no")
        return "Warm."

    process = ready(ToyShop(script))

    turns(process, lambda: ended(row))

    row.refresh_from_db()
    assert (row.from_pool, row.tries) == (True, 3)


def test_when_memory_runs_out_the_batch_is_halved() -> None:
    ask_for(make_suggester())
    shop = ToyShop()
    process = ready(shop, rows=8)
    shop.engine().broken = NoMemory("out of memory")

    turns(process, lambda: shop.n_opened == 2)

    wait_for(lambda: len(shop.opened["toy"].engines) == 1, "the new engine")
    assert shop.engine().most_active == 4


def test_a_model_that_cannot_be_opened_is_reported_and_keeps_nobody_else_waiting() -> None:
    make_suggester("bad", model="broken")
    good = make_suggester("good", model="toy")
    shop = ToyShop()

    def open_backend(spec: ModelSpec) -> Any:
        if spec.source == "broken":
            raise BackendError("The file broken.gguf is no model.")
        return shop(spec)

    process = SuggesterProcess(open_backend=open_backend, poll=0, name="p")
    row = ask_for(good)
    turns(process, lambda: ended(row))

    process.beat()
    seen = ModelWorker.objects.get(name="p")
    assert (seen.state, seen.models_loaded, seen.role) == ("failed", ["toy"], "suggestions")
    assert "broken does not work: The file broken.gguf is no model. " in seen.message  # beside the others, in any order
    assert ".." not in seen.message


def test_it_holds_the_models_of_active_suggesters_and_closes_the_rest() -> None:
    one, two = make_suggester("a", model="one"), make_suggester("b", model="two")
    shop = ToyShop()
    process = ready(shop)
    assert sorted(shop.opened) == ["one", "two"]

    change_suggester(suggester=two, active=False)
    turns(process, lambda: len(process.lanes) == 1)

    assert shop.opened["two"].closed
    assert not shop.opened["one"].closed
    assert [lane.name for lane in process.lanes.values()] == [one.model.name]


def test_it_holds_only_the_models_that_it_is_given() -> None:
    make_suggester("a", model="one")
    make_suggester("b", model="two")
    shop = ToyShop()

    ready(shop, models=["two"])

    assert list(shop.opened) == ["two"]


def test_without_the_database_it_continues_and_stores_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ask_for(make_suggester())
    process = ready(ToyShop())
    monkeypatch.setattr(suggester_process, "PAUSE_WITHOUT_DATABASE", 0.05)
    turns(process, lambda: process.busy)
    store = serving.store
    failures: list[int] = []

    def fail_twice(**values: Any) -> int:
        if len(failures) < 2:
            failures.append(1)
            raise OperationalError("server closed the connection unexpectedly")
        return store(**values)

    monkeypatch.setattr(serving, "store", fail_twice)
    wait_for(lambda: process.turn() is not None and ended(row), "the suggestion")

    assert len(failures) == 2
    assert Suggestion.objects.get().state == "done"


def test_run_beats_keeps_its_leases_and_gives_them_back_at_the_end() -> None:
    row = ask_for(make_suggester(wait_seconds=60, limits={"max_new_tokens": 100_000}))
    shop = ToyShop(lambda request: "word " * 50_000, step_seconds=0.001)
    process = SuggesterProcess(open_backend=shop, lease=timedelta(seconds=0.5), poll=0.01, name="p")
    seen: list[str] = []

    def enough() -> bool:
        row.refresh_from_db()
        if row.leased_by:
            seen.append(row.leased_by)
            # A busy machine may delay a beat; a lease that is never renewed would be a second late at the end.
            assert row.leased_until > timezone.now() - timedelta(seconds=0.9)  # type: ignore[operator]
        return bool(seen) and timezone.now() - row.started_at > timedelta(seconds=1.5)  # type: ignore[operator]

    process.run(until=enough)

    row.refresh_from_db()
    assert set(seen) == {"p"}
    assert (row.leased_by, row.leased_until, row.tries, row.state) == ("", None, 0, "waiting")
    assert not ModelWorker.objects.exists()
    assert shop.opened["toy"].closed


def test_a_process_that_hangs_ends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    ask_for(make_suggester())
    process = ready(ToyShop(lambda request: "word " * 5000))
    turns(process, lambda: process.busy)
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr("generation.suggestions.suggester_process.STUCK_SECONDS", 0.2)
    pulse = Pulse(process, LEASE)

    process.turn_at = time.monotonic()
    pulse.end_if_stuck()
    assert ended == []
    process.turn_at -= 1
    pulse.end_if_stuck()

    assert ended == [1]


def test_a_process_that_loads_another_model_has_longer_for_a_step() -> None:
    """Both need the same cores. If it ended itself, it would have to load both again, and so on for ever."""
    ask_for(make_suggester())
    process = ready(ToyShop(lambda request: "word " * 5000))
    turns(process, lambda: process.busy)
    (lane,) = process.lanes.values()

    process.turn_at = time.monotonic() - 100
    assert process.stuck
    lane.state = "loading"
    assert not process.stuck
    process.turn_at -= 600
    assert process.stuck


def test_without_suggesters_it_opens_nothing() -> None:
    shop = ToyShop()
    process = SuggesterProcess(open_backend=shop, poll=0)
    for _ in range(5):
        process.turn()

    assert (process.state, process.lanes, shop.n_opened) == ("idle", {}, 0)
    assert not Suggester.objects.exists()


def test_housekeeping_deletes_the_rows_of_processes_killed_long_ago() -> None:
    for name, days in (("old", 2), ("new", 0)):
        ModelWorker.objects.create(name=name, role="suggestions", seen_at=timezone.now() - timedelta(days=days))

    SuggesterProcess(open_backend=ToyShop(), poll=0).turn()

    assert list(ModelWorker.objects.values_list("name", flat=True)) == ["new"]
