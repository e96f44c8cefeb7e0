"""Nobody rates the same text twice, whatever hits it lies in, and texts end with as many different raters as wanted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from annotation.models import Arm, Assignment, Hit, HitItem, Item, Participant, Study, TakenItem
from annotation.task_types.items import ItemData
from annotation.work.allocation import NothingLeft, accept_next, revive_late
from annotation.work.ending import reclaim_expired, return_assignment
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, someone
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


def quality_study(*, contexts: int, systems: int, ratings: int, size: int = 5, **values: Any) -> Study:
    """One text of each system for each context."""
    payloads = [
        ItemData(
            f"c{context}s{system}",
            {
                "sample_id": f"c{context}s{system}",
                "context": f"It rained {context}",
                "text": f"all day {system}",
                "system": f"top_p={system}",
                "log_prob": "",
                "log_q": "",
                "role": "",
                "known_label": "",
            },
        )
        for context in range(contexts)
        for system in range(systems)
    ]
    defaults: dict[str, Any] = {"items_per_hit": size, "ratings_per_item": ratings, "hits_per_worker": None}
    return make_study(task_type="quality", payloads=payloads, **defaults | values)


def finish(assignment_id: int) -> Assignment:
    """Count a hit as sent, without its answers, which do not matter here."""
    Assignment.objects.filter(pk=assignment_id).update(state="submitted", ended_at=timezone.now())
    Hit.objects.filter(assignments=assignment_id).update(n_submitted=F("n_submitted") + 1)
    return Assignment.objects.get(pk=assignment_id)


def work_in_turns(workers: Iterable[Participant]) -> Counter[str]:
    """Everybody does one hit after the other until nothing is left for them. Returns why they stopped."""
    left, reasons = list(workers), Counter[str]()
    while left:
        for worker in list(left):
            try:
                finish(accept_next(participant_id=worker.pk).id)
            except NothingLeft as nothing:
                reasons[nothing.reason] += 1
                left.remove(worker)
    return reasons


def raters(study: Study) -> dict[str, list[int]]:
    """By item, who has rated it, once for each hit."""
    rows = HitItem.objects.filter(hit__study=study, hit__assignments__state="submitted", item__role="main")
    found: dict[str, list[int]] = {name: [] for name in study.items.values_list("external_id", flat=True)}
    for name, participant in rows.values_list("item__external_id", "hit__assignments__participant"):
        found[name].append(participant)
    return found


def two_hits_with_one_text() -> tuple[Study, Assignment, Hit]:
    """A study, somebody's work on one of its hits, and another hit that shares one of its texts."""
    study = make_study(items=2, ratings_per_item=3, hits_per_worker=None)
    one, other = study.hits.order_by("position")
    HitItem.objects.create(hit=other, item=one.items.get(), position=1)
    Arm.objects.filter(study=study).update(shares_items=True)
    worker = make_participant(study=study)
    mine = Assignment.objects.get(pk=accept_next(participant_id=worker.pk).id)
    assert mine.hit_id == one.pk
    return study, mine, other


def assign(hit: Hit, like: Assignment, **changes: Any) -> Assignment:
    values = {"slot": 0, "ordinal": 2, "platform_assignment_id": "another", "order": {}, "seed": 1}
    times = {"accepted_at": like.accepted_at, "expires_at": like.expires_at}
    return Assignment.objects.create(hit=hit, participant_id=like.participant_id, **values | times | changes)


# --- what it costs ---


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite does not count what it reads")
def test_giving_out_a_hit_does_not_read_the_items_of_all_hits(
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]],
) -> None:
    """PostgreSQL plans for small tables until it has counted the rows, and a trigger keeps its plan."""
    with django_capture_on_commit_callbacks(execute=True):
        study = make_study(items=400, ratings_per_item=12, hits_per_worker=None)
    before = _read_in_sequence("annotation_item")
    work_in_turns([make_participant(study=study)])
    assert study.hits.filter(n_submitted=1).count() == 400
    assert _read_in_sequence("annotation_item") - before < 2 * 400  # 400 times 400 if every hit reads them all


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite does not count what it reads")
def test_the_trigger_looks_up_single_items_whatever_the_planner_believes() -> None:
    """A plan that was made while the tables were new stays in use, so it must not read all items either."""
    study = make_study(items=400, ratings_per_item=12, hits_per_worker=None)
    participant = make_participant(study=study)
    mine = Assignment.objects.get(pk=accept_next(participant_id=participant.pk).id)
    before = _read_in_sequence("annotation_item")
    for number, hit in enumerate(study.hits.exclude(pk=mine.hit_id)):
        assign(hit, mine, state="released", platform_assignment_id=str(number))
    assert TakenItem.objects.filter(participant=participant).count() == 400
    assert _read_in_sequence("annotation_item") - before < 400


def _read_in_sequence(table: str) -> int:
    """The rows that this transaction has read by going through the whole table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = %s", [table])
        return int(cursor.fetchone()[0])


# --- what the database refuses ---


@pytest.mark.parametrize("mine_is", ["accepted", "submitted", "released", "stopped"])
@pytest.mark.parametrize("state", ["accepted", "submitted", "released"])
def test_the_database_refuses_a_hit_with_a_text_that_its_worker_has(mine_is: str, state: str) -> None:
    _, mine, other = two_hits_with_one_text()
    Assignment.objects.filter(pk=mine.pk).update(state=mine_is)
    with (
        pytest.raises(IntegrityError, match=r"takenitem_once|annotation_takenitem\.participant_id"),
        transaction.atomic(),
    ):
        assign(other, mine, state=state)


@pytest.mark.parametrize("mine_is", ["returned", "abandoned"])
def test_a_text_that_was_given_back_may_be_had_again_and_then_not_a_third_time(mine_is: str) -> None:
    _, mine, other = two_hits_with_one_text()
    Assignment.objects.filter(pk=mine.pk).update(state=mine_is)
    assign(other, mine)
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.filter(pk=mine.pk).update(state="accepted")


def test_what_is_excluded_and_included_again_keeps_its_texts() -> None:
    _, mine, other = two_hits_with_one_text()
    for state in ("submitted", "released", "submitted"):
        Assignment.objects.filter(pk=mine.pk).update(state=state)
        assert TakenItem.objects.filter(assignment=mine).count() == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        assign(other, mine)


# --- which hit ---


def test_nobody_gets_a_hit_with_a_text_that_they_have_rated_in_another() -> None:
    study, mine, other = two_hits_with_one_text()
    finish(mine.pk)
    with pytest.raises(NothingLeft, match="done"):
        accept_next(participant_id=mine.participant_id)
    assert accept_next(participant_id=make_participant(study=study).pk).new.hit_id == other.pk  # type: ignore[union-attr]


def test_nor_with_one_that_they_returned() -> None:
    _, mine, _ = two_hits_with_one_text()
    assert return_assignment(assignment_id=mine.pk, participant_id=mine.participant_id)
    with pytest.raises(NothingLeft, match="done"):
        accept_next(participant_id=mine.participant_id)


def test_a_late_step_does_not_bring_back_a_text_that_was_rated_since() -> None:
    _, mine, other = two_hits_with_one_text()
    Assignment.objects.filter(pk=mine.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert reclaim_expired() == 1
    Hit.objects.filter(pk=mine.hit_id).update(wanted=1, n_live=1)  # somebody else has it
    second = accept_next(participant_id=mine.participant_id)
    assert finish(second.id).hit_id == other.pk
    Hit.objects.filter(pk=mine.hit_id).update(n_live=0)
    assert not revive_late(assignment_id=mine.pk, participant_id=mine.participant_id)


def test_no_gold_item_comes_again_while_others_are_left() -> None:
    rows = [*MAIN, {**GOLD, "sample_id": "g1"}, {**GOLD, "sample_id": "g2", "text": "Hum hum."}]
    study = gold_study(rows, values={"ratings_per_item": 1}, quality_control={"gold_per_hit": 1})
    worker = someone(study)
    gold = []
    for _ in range(4):
        work = finish(accept_next(participant_id=worker.pk).id)
        gold.append(work.hit.items.get(role=Item.Role.GOLD).external_id)
    assert set(gold[:2]) == {"g1", "g2"}
    assert len(gold) == 4, "gold items come again when there are no others"


# --- whole studies ---


@pytest.mark.slow
def test_270_texts_with_three_ratings_by_five_workers_have_three_different_raters_each() -> None:
    study = quality_study(contexts=18, systems=15, ratings=3)
    assert study.hits.count() == 162
    workers = [make_participant(study=study) for _ in range(5)]
    reasons = work_in_turns(workers)
    by_item = raters(study)
    assert {len(set(who)) for who in by_item.values()} == {3}
    assert {len(who) for who in by_item.values()} == {3}
    assert reasons == {"done": 5}


def test_two_of_three_needed_workers_give_every_text_two_different_raters() -> None:
    study = quality_study(contexts=4, systems=15, ratings=3)
    work_in_turns([make_participant(study=study) for _ in range(2)])
    assert {len(set(who)) for who in raters(study).values()} == {2}


def test_texts_that_do_not_divide_into_rounds_still_never_have_a_rater_twice() -> None:
    study = quality_study(contexts=5, systems=8, ratings=4)  # 40 texts with four ratings: 32 hits
    work_in_turns([make_participant(study=study) for _ in range(7)])
    by_item = raters(study)
    assert all(len(who) == len(set(who)) for who in by_item.values())
    planned = Counter(HitItem.objects.filter(hit__study=study).values_list("item__external_id", flat=True))
    assert {name: len(set(who)) for name, who in by_item.items()} == planned


def test_workers_who_come_one_after_the_other_fill_the_study_too() -> None:
    study = quality_study(contexts=4, systems=15, ratings=3)
    for _ in range(3):
        work_in_turns([make_participant(study=study)])
    assert {len(set(who)) for who in raters(study).values()} == {3}


def test_hits_of_one_layer_share_no_text() -> None:
    study = quality_study(contexts=5, systems=8, ratings=4)
    assert study.arms.get().shares_items
    texts: dict[int, list[int]] = defaultdict(list)
    for layer, item in HitItem.objects.filter(hit__study=study).values_list("hit__layer", "item"):
        texts[layer].append(item)
    assert all(len(items) == len(set(items)) for items in texts.values())
    assert not make_study(items=3).arms.get().shares_items
