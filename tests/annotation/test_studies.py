"""Studies made, changed, taken through their states; what is refused, and what is left behind then."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connections

from annotation.models import AuditEntry, Hit, HitItem, Item, Membership, Posting, Study
from annotation.services.allocation import NotAdmitted, NothingLeft, accept_next
from annotation.services.planning import publish
from annotation.services.studies import (
    FROZEN_WHEN_CLOSED,
    FROZEN_WHEN_LIVE,
    Frozen,
    change_study,
    close_study,
    create_study,
    delete_draft,
    pause_study,
    resume_study,
)
from annotation.task_types.base import PlannedHit
from annotation.task_types.registry import get_type
from common.problems import Invalid
from tests.factories import make_items, make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


def create(**given: Any) -> Study:
    values = {"slug": "sets", "task_type": "abs_hds", "config": {}, "texts": {}, "actor": "ann", "owner": None} | given
    values["values"] = {"title": "Sets"} | given.get("values", {})
    return create_study(**values)


def draft(**values: Any) -> Study:
    return make_study(live=False, **values)


def refused(act: Callable[..., Any], **given: Any) -> dict[str, str]:
    """Field and what is said of it."""
    with pytest.raises((Invalid, Frozen)) as caught:
        act(**given)
    problems = caught.value.problems
    assert all(problem.what for problem in problems)
    return {problem.where: f"{problem.what} {problem.fix}" for problem in problems}


# --- making ---


def test_what_is_not_given_has_its_default() -> None:
    study = create()
    assert (study.status, study.ratings_per_item, study.items_per_hit, study.hits_per_worker) == ("draft", 10, 1, 1)
    assert (study.feedback_box, study.access, study.seed, study.reward) == (True, "open", 1, Decimal(0))
    assert study.config == {
        "generation_task": "response",
        "write_first": True,
        "rate_first": True,
        "max_words": 15,
        "empty_responses": "keep",
    }
    assert study.texts == {}


def test_what_is_given_is_stored_clean_and_as_json_holds_it() -> None:
    study = create(
        values={"title": "  Two \n words ", "reward": 0.18, "hits_per_worker": None, "feedback_box": False,
                "consent": "One\r\n\r\ntwo"},
        config={"max_words": "20", "write_first": False},
        texts={"instructions": "Do this.\r\nThen that.", "ignore_quality": "  "},
    )  # fmt: skip
    study.refresh_from_db()
    assert (study.title, study.reward, study.hits_per_worker, study.feedback_box) == (
        "Two words",
        Decimal("0.18"),
        None,
        False,
    )
    assert study.consent == "One\n\ntwo"
    assert (study.config["max_words"], study.config["write_first"]) == (20, False)
    assert study.texts == {"instructions": "Do this.\nThen that."}


def test_the_owner_is_a_member_and_the_making_is_told() -> None:
    owner = make_researcher("ann")
    study = create(owner=owner)
    assert Membership.objects.get(study=study).role == "owner"
    entry = AuditEntry.objects.get(study=study)
    assert (entry.action, entry.actor, entry.detail["owner"]) == ("create", "ann", "ann")
    assert entry.detail["values"]["title"] == "Sets"


def test_everything_wrong_is_told_at_once() -> None:
    found = refused(
        create,
        slug="Not A Slug",
        values={
            "title": "",
            "ratings_per_item": 0,
            "reward": "much",
            "access": "everybody",
            "seed": -1,
            "hits_per_workers": 3,
        },
        config={"max_words": 2, "generation_task": "poem", "half_steps": True},
    )
    assert set(found) == {
        "slug",
        "title",
        "ratings_per_item",
        "reward",
        "access",
        "seed",
        "hits_per_workers",
        "config.max_words",
        "config.generation_task",
        "config.half_steps",
    }
    assert "Did you mean “hits_per_worker”?" in found["hits_per_workers"]
    assert "a whole number from 1 to 1,000" in found["ratings_per_item"]
    assert "one of story, response, prompt" in found["config.generation_task"]
    assert "a whole number from 3 to 200" in found["config.max_words"]
    assert not Study.objects.exists()


def test_texts_must_be_the_types_own_names() -> None:
    found = refused(create, texts={"instruction": "x", "ignore_quality": "x" * 20_001})
    assert "Did you mean “instructions”?" in found["texts.instruction"]
    assert "20,001" in found["texts.ignore_quality"]


def test_a_wording_that_says_what_the_type_says_anyway_is_none() -> None:
    texts = get_type("abs_hds").texts(create().config)
    default = next(text.default for text in texts if text.name == "ignore_quality")
    assert create(slug="other", texts={"ignore_quality": f" {default}\r\n"}).texts == {}


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "a\x1bb"])
def test_characters_that_no_database_stores_are_refused_everywhere(text: str) -> None:
    found = refused(create, values={"title": text, "consent": text}, texts={"instructions": text})
    assert {"title", "consent", "texts.instructions"} <= set(found)


def test_two_studies_cannot_have_one_name() -> None:
    create()
    assert "Another study" in refused(create)["slug"]


def test_an_unknown_task_type_is_answered_with_the_known_ones() -> None:
    assert "abs_hds, asp_hds" in refused(create, task_type="abs_hbs")["task_type"]


# --- changing ---


def test_a_draft_may_change_in_every_way_and_both_values_are_told() -> None:
    study = create(texts={"instructions": "Old"})
    changed = change_study(
        study=study,
        values={"slug": "new-name", "reward": "0.50", "consent": "Yes?", "title": "Sets"},
        config={"generation_task": "story"},
        texts={},
        actor="bob",
    )
    assert (changed.slug, changed.reward, changed.texts) == ("new-name", Decimal("0.5"), {})
    assert changed.config["generation_task"] == "story"
    entry = AuditEntry.objects.filter(study=study, action="change").get()
    changes = entry.detail["changes"]
    assert set(changes) == {"slug", "reward", "consent", "config.generation_task", "texts.instructions"}
    assert changes["texts.instructions"] == {"old": "Old", "new": None}


def test_only_what_is_given_changes() -> None:
    study = create(values={"reward": "0.2"}, config={"max_words": 9}, texts={"instructions": "Mine"})
    changed = change_study(study=study, values={"title": "Other"}, actor="ann")
    assert (changed.title, changed.reward, changed.config["max_words"]) == ("Other", Decimal("0.2"), 9)
    assert changed.texts == {"instructions": "Mine"}


def test_saving_what_is_there_leaves_no_trace() -> None:
    study = make_study(consent="One\n\ntwo")
    before = AuditEntry.objects.count()
    change_study(study=study, values={"title": study.title, "consent": "One\r\n\r\ntwo"}, actor="ann")
    assert AuditEntry.objects.count() == before


def test_another_task_type_deletes_items_that_it_cannot_read() -> None:
    study = draft(items=2)
    changed = change_study(study=study, values={"task_type": "asp_hds"}, config={"aspect": "form"}, actor="ann")
    assert (changed.task_type, changed.config["aspect"]) == ("asp_hds", "form")
    assert not study.items.exists()


FROZEN_CHANGES: dict[str, dict[str, Any]] = {
    "slug": {"values": {"slug": "other"}},
    "task_type": {"values": {"task_type": "sim_hds"}, "config": {}},
    "config": {"config": {"max_words": 7}},
    "texts": {"texts": {"instructions": "Other"}},
    "consent": {"values": {"consent": "Other"}},
    "feedback_box": {"values": {"feedback_box": False}},
    "items_per_hit": {"values": {"items_per_hit": 2}},
    "seed": {"values": {"seed": 2}},
    "reward": {"values": {"reward": "9"}},
    "arms": {"arms": [{"name": "new"}]},
    "quality_control": {"quality_control": {"too_fast": 2.0}},
    "exclude": {"exclusion": {"flags": ["too_fast"]}},
}
TERMS = {
    "config": "config.max_words",
    "texts": "texts.instructions",
    "quality_control": "quality_control.too_fast",
    "exclude": "exclude.flags",
}


def test_the_frozen_changes_below_are_all_there_are() -> None:
    assert set(FROZEN_CHANGES) | {"items"} == set(FROZEN_WHEN_LIVE)


@pytest.mark.parametrize("status", ["live", "paused", "closed"])
@pytest.mark.parametrize("field", FROZEN_CHANGES)
def test_nothing_that_changes_the_instrument_may_change_after_draft(field: str, status: str) -> None:
    study = make_study(status=status)
    before = Study.objects.filter(pk=study.pk).values().get()
    found = refused(change_study, study=study, actor="ann", **FROZEN_CHANGES[field])
    assert found[TERMS.get(field, field)].startswith(FROZEN_WHEN_LIVE[field])
    assert Study.objects.filter(pk=study.pk).values().get() == before
    assert not AuditEntry.objects.filter(study=study).exists()


def test_all_frozen_fields_are_told_at_once() -> None:
    values = {"title": "Fine", "seed": 3, "reward": 1, "consent": "x"}
    with pytest.raises(Frozen) as caught:
        change_study(study=make_study(), values=values, actor="ann")
    assert {problem.where for problem in caught.value.problems} == {"seed", "reward", "consent"}


FREE_CHANGES: dict[str, Any] = {
    "title": "Another title",
    "contact": "else@example.org",
    "hits_per_worker": 5,
    "time_limit_minutes": 90,
    "access": "invited",
    "identity": "browser",
    "ratings_per_item": 4,
}


@pytest.mark.parametrize("field", FREE_CHANGES)
def test_what_touches_no_rating_may_change_while_a_study_is_live(field: str) -> None:
    study = change_study(study=make_study(ratings_per_item=2), values={field: FREE_CHANGES[field]}, actor="ann")
    assert getattr(Study.objects.get(pk=study.pk), field) == FREE_CHANGES[field]


@pytest.mark.parametrize("field", FREE_CHANGES)
def test_of_a_closed_study_only_title_and_contact_may_change(field: str) -> None:
    study = make_study(status="closed", ratings_per_item=2)
    if field in FROZEN_WHEN_CLOSED:
        assert field in refused(change_study, study=study, values={field: FREE_CHANGES[field]}, actor="ann")
    else:
        change_study(study=study, values={field: FREE_CHANGES[field]}, actor="ann")


def test_more_ratings_per_item_open_more_places() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study)
    with pytest.raises(NotAdmitted):
        make_participant(study=study)
    change_study(study=study, values={"ratings_per_item": 2}, actor="ann")
    assert accept_next(participant_id=make_participant(study=study).pk)


def test_fewer_ratings_per_item_are_refused_after_draft() -> None:
    study = make_study(ratings_per_item=3)
    assert (
        "raise it from 3"
        in refused(change_study, study=study, values={"ratings_per_item": 2}, actor="a")["ratings_per_item"]
    )
    assert set(study.hits.values_list("wanted", flat=True)) == {3}


def test_a_live_study_stays_editable_though_its_type_has_new_rules() -> None:
    study = make_study(config={"max_words": 3})
    Study.objects.filter(pk=study.pk).update(config=study.config | {"max_words": 1})
    assert change_study(study=study, values={"title": "Still"}, actor="ann").title == "Still"


# --- going live ---


def test_going_live_plans_the_hits_by_the_seed() -> None:
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


def test_going_live_twice_changes_nothing() -> None:
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


def test_every_reason_against_going_live_is_told_at_once() -> None:
    study = draft(items=0, texts={"no_such": "x"})
    Study.objects.filter(pk=study.pk).update(config=study.config | {"max_words": 1}, title="")
    assert set(refused(publish, study=study, actor="ann")) == {"items", "config.max_words", "title"}


def test_a_hit_cannot_hold_more_items_than_there_are() -> None:
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
def test_a_types_unsound_plan_does_not_go_live(plan: list[PlannedHit], what: str) -> None:
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
def test_what_a_state_does_not_allow_is_refused(act: Callable[..., Any], status: str) -> None:
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
