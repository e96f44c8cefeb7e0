"""Studies are launched, paused, closed and deleted."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connections, transaction

from annotation.models import AuditEntry, Hit, HitItem, Item, Posting, Study
from annotation.studies.launching import publish
from annotation.studies.storing import (
    change_study,
    close_study,
    delete_draft,
    pause_study,
    resume_study,
)
from annotation.task_types.base import PlannedHit
from annotation.task_types.registry import get_type
from annotation.work.allocation import NothingLeft, accept_next
from tests.annotation.study_helpers import draft, refused
from tests.factories import make_items, make_participant, make_researcher, make_study

pytestmark = pytest.mark.django_db


# --- going live ---


def test_a_launch_plans_the_hits_from_the_seed() -> None:
    study = draft(items=5, items_per_hit=2, ratings_per_item=3, seed=42)
    publish(study=study, actor="ann")
    posting = Posting.objects.get(study=study)
    ids = list(study.items.values_list("external_id", flat=True))
    random.Random(42).shuffle(ids)
    planned = [list(hit.places.values_list("item__external_id", flat=True)) for hit in study.hits.all()]
    assert planned == [ids[0:2], ids[2:4], ids[4:5]]
    assert set(study.hits.values_list("wanted", "n_live", "n_submitted")) == {(3, 0, 0)}
    assert (study.status, posting.platform, posting.external_id) == ("live", "link", study.slug)
    assert posting.url.endswith(f"/s/{study.slug}/")
    assert study.live_at is not None
    entry = AuditEntry.objects.get(study=study, action="publish")
    assert (entry.detail["hits"], entry.detail["items"], entry.detail["seed"]) == (3, 5, 42)


def test_launching_twice_changes_nothing() -> None:
    study = draft(items=3)
    for actor in ("ann", "bob"):
        publish(study=Study.objects.get(pk=study.pk), actor=actor)
    assert Posting.objects.filter(study=study).count() == 1
    assert (study.hits.count(), AuditEntry.objects.filter(study=study).count()) == (3, 1)


def test_the_wording_shown_is_kept_when_a_study_goes_live() -> None:
    study = draft(texts={"instructions": "Mine"})
    publish(study=study, actor="ann")
    assert study.texts == {"instructions": "Mine"}
    shown = study.arms.get().shown_texts
    assert shown["instructions"] == "Mine"
    assert shown["ignore_quality"].startswith("From here on")
    change_study(study=study, texts={"instructions": "Mine"}, actor="ann")
    assert set(refused(change_study, study=study, texts={}, actor="ann")) == {"texts.instructions"}


def test_every_reason_against_a_launch_is_reported_at_once() -> None:
    study = draft(items=0, texts={"no_such": "x"})
    Study.objects.filter(pk=study.pk).update(config=study.config | {"max_words": 1}, title="")
    assert set(refused(publish, study=study, actor="ann")) == {"items", "config.max_words", "title"}


def test_a_hit_cannot_contain_more_items_than_the_study() -> None:
    assert "1 to 3" in refused(publish, study=draft(items=3, items_per_hit=4), actor="ann")["items_per_hit"]


def test_items_read_under_other_settings_must_be_imported_again() -> None:
    study = draft(items=1)
    Study.objects.filter(pk=study.pk).update(items_read_with={"empty_responses": "drop"})
    study.refresh_from_db()
    assert "read with empty_responses 'drop'" in refused(publish, study=study, actor="ann")["items"]


@pytest.mark.parametrize(
    ("plan", "what"),
    [
        ([], "items in no hit: 2"),
        ([PlannedHit(["s0"], 1)], "items in no hit: 1"),
        ([PlannedHit(["s0", "s0"], 1), PlannedHit(["s1"], 1)], "an item twice"),
        ([PlannedHit(["s0"], 1), PlannedHit(["s1"], 1), PlannedHit([], 1)], "a hit is empty"),
        ([PlannedHit(["s0", "s1", "s2"], 1)], "items that the study lacks"),
        ([PlannedHit(["s0", "s1"], 0)], "fewer than 1"),
        ([PlannedHit(["s0", "s1"], 1, "other")], "in no arm"),
    ],
)
def test_a_study_with_an_invalid_plan_does_not_launch(plan: list[PlannedHit], what: str) -> None:
    study = draft(items=2)
    assert list(study.items.values_list("external_id", flat=True)) == ["s0", "s1"]
    with patch.object(type(get_type("abs_hds")), "plan", return_value=plan):
        assert what in refused(publish, study=study, actor="ann")["task_type"]
    assert not study.hits.exists()


def test_a_database_that_fails_in_the_middle_leaves_a_whole_draft() -> None:
    study = draft(items=4)
    with (
        patch.object(HitItem.objects, "bulk_create", side_effect=OperationalError("database or disk is full")),
        pytest.raises(OperationalError),
    ):
        publish(study=study, actor="ann")
    assert study.status == "draft"
    study.refresh_from_db()
    assert (study.status, study.live_at, study.texts) == ("draft", None, {})
    assert not Hit.objects.filter(study=study).exists()
    assert not Posting.objects.filter(study=study).exists()
    assert not AuditEntry.objects.filter(study=study).exists()
    publish(study=study, actor="ann")
    assert study.hits.count() == 4


# --- states ---


def test_pausing_resuming_closing() -> None:
    study = draft(items=1)
    publish(study=study, actor="ann")
    assert pause_study(study=study, actor="ann").status == "paused"
    with pytest.raises(NothingLeft, match="paused"):
        accept_next(participant_id=make_participant(study=study).pk)
    assert resume_study(study=study, actor="ann").status == "live"
    closed = close_study(study=study, actor="ann")
    assert closed.status == "closed"
    assert closed.closed_at is not None
    assert Posting.objects.get(study=study).withdrawn_at == closed.closed_at
    told = AuditEntry.objects.filter(study=study).order_by("pk").values_list("action", flat=True)
    assert list(told) == ["publish", "pause", "resume", "close"]


@pytest.mark.parametrize(("act", "status"), [(pause_study, "paused"), (resume_study, "live"), (close_study, "closed")])
def test_doing_it_again_changes_nothing(act: Callable[..., Study], status: str) -> None:
    study = make_study(status=status)
    assert act(study=study, actor="ann").status == status
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (pause_study, "draft"),
        (pause_study, "closed"),
        (resume_study, "draft"),
        (resume_study, "closed"),
        (close_study, "draft"),
        (publish, "paused"),
        (publish, "closed"),
    ],
)
def test_an_action_that_the_state_does_not_allow_is_refused(act: Callable[..., Any], status: str) -> None:
    study = make_study(status=status)
    assert set(refused(act, study=study, actor="ann")) == {"status"}
    assert Study.objects.get(pk=study.pk).status == status


def test_a_draft_can_be_deleted_with_all_it_has() -> None:
    study = draft(items=2, owner=make_researcher("ann"))
    delete_draft(study=study, actor="ann")
    assert not Study.objects.exists()
    assert not Item.objects.exists()


@pytest.mark.parametrize("status", ["live", "paused", "closed"])
def test_nothing_that_workers_have_seen_can_be_deleted(status: str) -> None:
    study = make_study(status=status)
    assert "only a draft" in refused(delete_draft, study=study, actor="ann")["status"]
    assert Study.objects.exists()


def test_items_can_still_be_added_by_hand_to_a_draft() -> None:
    study = draft(items=0)
    make_items(study=study, items=2)
    publish(study=study, actor="ann")
    assert study.hits.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_who_go_live_at_once_plan_the_hits_once() -> None:
    study = draft(items=40)
    start = threading.Barrier(4)

    def go(actor: str) -> int:
        try:
            start.wait()
            publish(study=Study.objects.get(pk=study.pk), actor=actor)
            return Posting.objects.get(study=study).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        postings = set(pool.map(go, ["ann", "bob", "cid", "dan"]))
    assert len(postings) == 1
    assert study.hits.count() == 40
    assert AuditEntry.objects.filter(study=study, action="publish").count() == 1


@pytest.mark.django_db(transaction=True)
def test_places_that_are_opened_while_hits_are_given_out_are_never_too_many() -> None:
    study = make_study(items=4, ratings_per_item=1, hits_per_worker=1)
    workers = [make_participant(study=study).pk for _ in range(8)]

    def work(pk: int) -> bool:
        try:
            accept_next(participant_id=pk)
        except NothingLeft:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        given = [pool.submit(work, pk) for pk in workers]
        change_study(study=study, values={"ratings_per_item": 2}, actor="ann")
        done = [future.result() for future in given]
    assert 4 <= sum(done) <= 8
    assert set(study.hits.values_list("wanted", flat=True)) == {2}
    assert sum(study.hits.values_list("n_live", flat=True)) == sum(done)


@pytest.mark.django_db(transaction=True)
def test_a_database_that_cannot_count_its_rows_does_not_stop_what_follows_the_launch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For example, the job that posts the hits is sent after the commit, too."""

    def refuse(*written: object) -> None:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr("annotation.sql.analyze", refuse)
    study, followed = draft(), []
    with transaction.atomic():
        publish(study=study, actor="ann")
        transaction.on_commit(lambda: followed.append(study.pk))
    study.refresh_from_db()
    assert (study.status, followed) == ("live", [study.pk])
