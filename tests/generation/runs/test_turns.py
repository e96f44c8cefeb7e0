"""Texts show while they are drawn, and every chunk is stored as soon as it is complete."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from generation.backends.base import BackendError
from generation.models import Chunk, GenerationRun
from generation.runs import chunks, turns
from generation.runs.progress import latest_samples, progress
from generation.runs.run_worker import make_chunks
from generation.runs.turns import FAILED, STORED
from tests.generation.support.run_factories import make_run
from tests.generation.support.toy_runs import Toy

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_installed")]
BACKENDS = ("transformers",)


@pytest.fixture(autouse=True)
def show_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PREVIEW_SECONDS", 0.0)


def claimed(run: GenerationRun, most: int = 1) -> list[chunks.ClaimedChunk]:
    return chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=most)


def one_decoder(samples: int, chunk_size: int = 64) -> GenerationRun:
    return make_run(contexts=["One"], decoders=["top_p=0.9"], samples=samples, chunk_size=chunk_size)


def test_texts_show_before_their_chunk_is_stored() -> None:
    run = one_decoder(samples=4)
    seen: list[tuple[int, int, list[Any]]] = []

    def look(number: int) -> None:
        figures = progress(run)
        seen.append((figures.n_done, figures.n_drawn, latest_samples(run, 12)))

    claimed_chunks = claimed(run)
    toy = Toy(before=look)
    assert make_chunks(claimed_chunks, worker="w", backend_of=toy.backend_of) == [STORED]
    assert [(done, drawn) for done, drawn, _ in seen] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    # The newest come first, and what is shown is what is finally stored.
    stored = list(run.samples.order_by("number").values_list("text", flat=True))
    assert [text["text"] for text in seen[-1][2]] == stored[2::-1]
    assert seen[-1][2][0] | {"text": ""} == {
        "context": "1", "model": "toy", "decoder": "top_p=0.9", "text": "", "stored": False,
    }  # fmt: skip
    assert [text["text"] for text in latest_samples(run, 2)] == stored[:1:-1]
    assert progress(run).n_drawn == 0
    assert run.chunks.get().preview == {}


def test_a_chunk_is_stored_while_the_next_of_its_turn_is_made() -> None:
    run = one_decoder(samples=6, chunk_size=2)
    stored: list[int] = []
    toy = Toy(before=lambda number: stored.append(run.samples.count()))
    assert make_chunks(claimed(run, most=3), worker="w", backend_of=toy.backend_of) == [STORED] * 3
    assert stored == [0, 0, 2, 2, 4, 4]


def test_a_failure_leaves_the_chunks_that_were_stored_before_it() -> None:
    run = one_decoder(samples=4, chunk_size=2)

    def fail(number: int) -> None:
        if number == 4:
            raise BackendError("The server answered 500.")

    assert make_chunks(claimed(run, most=2), worker="w", backend_of=Toy(before=fail).backend_of) == [STORED, FAILED]
    # The first text of the second chunk was finished, too: it is now a separate chunk.
    assert set(run.samples.values_list("number", flat=True)) == {0, 1, 2}
    rows = run.chunks.order_by("number").values_list("state", "attempts", "places", "n_samples")
    assert list(rows) == [
        ("done", 0, [[0, "top_p=0.9", 0, 2]], 2),
        ("waiting", 1, [[0, "top_p=0.9", 3, 1]], 1),
        ("done", 0, [[0, "top_p=0.9", 2, 1]], 1),
    ]
    assert progress(run).n_drawn == 0


def test_the_preview_of_a_worker_that_vanished_is_not_counted() -> None:
    run = one_decoder(samples=3)
    claimed_chunks = claimed(run)
    chunks.show(claimed_chunks[0], {"n": 2, "tokens": 10, "seconds": 4.0, "texts": []})
    figures = progress(run)
    assert (figures.n_drawn, figures.samples_per_second, figures.tokens_per_second) == (2, 0.5, 2.5)
    assert figures.seconds_left == pytest.approx(2.0)  # one text is missing
    Chunk.objects.update(leased_until=timezone.now())
    assert progress(run).n_drawn == 0
    assert claimed(run)[0].chunk.preview == {}


def test_only_the_holder_of_the_lease_shows_texts() -> None:
    run = one_decoder(samples=3)
    claimed_chunks = claimed(run)
    Chunk.objects.update(leased_by="other#1")
    chunks.show(claimed_chunks[0], {"n": 2, "texts": []})
    assert run.chunks.get().preview == {}


def test_characters_that_no_database_stores_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    run = one_decoder(samples=2)
    shown: list[Any] = []
    monkeypatch.setattr("tests.generation.support.toy_runs.toy_text", lambda *_: "a\x00b")
    toy = Toy(before=lambda number: shown.append(run.chunks.get().preview))
    assert make_chunks(claimed(run), worker="w", backend_of=toy.backend_of) == [STORED]
    assert shown[1]["texts"][0]["text"] == "a\ufffdb"


def test_a_preview_that_cannot_be_written_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = one_decoder(samples=3)

    def refuse(*_: Any) -> None:
        raise DatabaseError("The disk is full.")

    monkeypatch.setattr(chunks, "show", refuse)
    assert make_chunks(claimed(run), worker="w", backend_of=Toy().backend_of) == [STORED]
    assert run.samples.count() == 3


def test_chunks_that_are_made_quickly_write_no_previews(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight chunks within much less than two seconds: nobody could read what is written in between."""
    monkeypatch.setattr(turns, "PREVIEW_SECONDS", 2.0)
    shown: list[Any] = []
    monkeypatch.setattr(chunks, "show", lambda *arguments: shown.append(arguments))
    assert set(
        make_chunks(claimed(one_decoder(24, chunk_size=3), most=8), worker="w", backend_of=Toy().backend_of)
    ) == {STORED}
    assert shown == []


def test_many_chunks_are_claimed_with_as_many_queries_as_one() -> None:
    run = make_run(contexts=[f"Text {number}" for number in range(20)], decoders=["ancestral"], samples=1, chunk_size=1)
    with CaptureQueriesContext(connection) as one:
        claimed(run)
    with CaptureQueriesContext(connection) as many:
        assert len(claimed(run, most=16)) == 16
    assert len(many) <= len(one)
