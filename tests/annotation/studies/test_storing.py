"""Studies are made and changed by services that check everything and report all problems at once."""

from decimal import Decimal
from typing import Any

import pytest

from annotation.models import AuditEntry, Membership, Study
from annotation.studies.checking import find_type
from annotation.studies.spec import ArmSpec
from annotation.studies.storing import (
    FROZEN_WHEN_CLOSED,
    FROZEN_WHEN_LIVE,
    Frozen,
    change_study,
)
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.registry import get_type
from annotation.work.allocation import NotAdmitted, accept_next
from tests.annotation.study_helpers import create, draft, refused
from tests.factories import make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


# --- making ---


def test_omitted_parameters_have_their_defaults() -> None:
    study = create()
    assert (study.status, study.ratings_per_item, study.items_per_hit, study.hits_per_worker) == ("draft", 10, 1, None)
    assert (study.feedback_box, study.access, study.seed, study.reward) == (True, "open", 1, Decimal(0))
    assert study.config == {
        "generation_task": "response",
        "write_first": True,
        "rate_first": True,
        "max_words": 15,
        "empty_responses": "keep",
    }
    assert study.texts == {}


def test_values_are_stored_clean_and_as_json() -> None:
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


def test_the_owner_is_a_member_and_the_creation_is_recorded() -> None:
    owner = make_researcher("ann")
    study = create(owner=owner)
    assert Membership.objects.get(study=study).role == "owner"
    entry = AuditEntry.objects.get(study=study)
    assert (entry.action, entry.actor, entry.detail["owner"]) == ("create", "ann", "ann")
    assert entry.detail["values"]["title"] == "Sets"


def test_all_errors_are_reported_at_once() -> None:
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


def test_a_wording_equal_to_the_standard_text_is_not_stored() -> None:
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


def test_everything_in_a_draft_can_change_and_both_values_are_reported() -> None:
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


def test_saving_without_changes_leaves_no_trace() -> None:
    study = make_study(consent="One\n\ntwo")
    before = AuditEntry.objects.count()
    change_study(study=study, values={"title": study.title, "consent": "One\r\n\r\ntwo"}, actor="ann")
    assert AuditEntry.objects.count() == before


def test_another_task_type_deletes_items_that_it_cannot_read() -> None:
    study = draft(items=2)
    changed = change_study(study=study, task_type="asp_hds", config={"aspect": "form"}, actor="ann")
    assert (changed.task_type, changed.config["aspect"]) == ("asp_hds", "form")
    assert not study.items.exists()


FROZEN_CHANGES: dict[str, dict[str, Any]] = {
    "slug": {"values": {"slug": "other"}},
    "task_type": {"task_type": "sim_hds", "config": {}},
    "config": {"config": {"max_words": 7}},
    "texts": {"texts": {"instructions": "Other"}},
    "consent": {"values": {"consent": "Other"}},
    "feedback_box": {"values": {"feedback_box": False}},
    "items_per_hit": {"values": {"items_per_hit": 2}},
    "seed": {"values": {"seed": 2}},
    "reward": {"values": {"reward": "9"}},
    "part_pay": {"values": {"part_pay": "steps"}},
    "part_pay_amount": {"values": {"part_pay": "fixed", "part_pay_amount": "0.50", "reward": "9"}},
    "pay_note": {"values": {"pay_note": "By bank transfer."}},
    "keep_ratings": {"values": {"keep_ratings": True}},
    "arms": {"arms": [ArmSpec("new")]},
    "quality_control": {"quality_control": {"too_fast": 2.0}},
    "exclude": {"exclusion": {"flags": ["too_fast"]}},
    "stopping": {"stopping": {"factor": "system", "criterion": "diversity"}},
    "language": {"values": {"language": "de"}},
    "item_language": {"values": {"item_language": "en-GB"}},
    "interface": {"interface": {"Start": "Begin"}},
}
TERMS = {
    "config": "config.max_words",
    "texts": "texts.instructions",
    "quality_control": "quality_control.too_fast",
    "exclude": "exclude.flags",
    "stopping": "stopping.factor",
    "interface": "interface.Start",
}


def test_the_list_of_locked_fields_is_complete() -> None:
    elsewhere = {"items", *QuestionnairesForm.base_fields}  # of questionnaires: test_questionnaires_described.py
    assert set(FROZEN_CHANGES) | elsewhere == set(FROZEN_WHEN_LIVE)


@pytest.mark.parametrize("status", ["live", "paused", "closed"])
@pytest.mark.parametrize("field", FROZEN_CHANGES)
def test_nothing_that_changes_the_instrument_may_change_after_draft(field: str, status: str) -> None:
    study = make_study(status=status)
    before = Study.objects.filter(pk=study.pk).values().get()
    found = refused(change_study, study=study, actor="ann", **FROZEN_CHANGES[field])
    assert found[TERMS.get(field, field)].startswith(FROZEN_WHEN_LIVE[field])
    assert Study.objects.filter(pk=study.pk).values().get() == before
    assert not AuditEntry.objects.filter(study=study).exists()


def test_all_locked_fields_are_reported_at_once() -> None:
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
def test_settings_that_touch_no_rating_can_change_while_a_study_is_live(field: str) -> None:
    study = change_study(study=make_study(ratings_per_item=2), values={field: FREE_CHANGES[field]}, actor="ann")
    assert getattr(Study.objects.get(pk=study.pk), field) == FREE_CHANGES[field]


@pytest.mark.parametrize("field", FREE_CHANGES)
def test_only_title_and_contact_of_a_closed_study_can_change(field: str) -> None:
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


def test_a_live_study_stays_editable_when_its_type_gets_new_rules() -> None:
    study = make_study(config={"max_words": 3})
    Study.objects.filter(pk=study.pk).update(config=study.config | {"max_words": 1})
    assert change_study(study=study, values={"title": "Still"}, actor="ann").title == "Still"


def test_the_problem_with_an_unknown_type_has_two_sentences_whatever_its_name() -> None:
    task, [problem] = find_type("likert. v2")
    assert task is None
    assert problem.what == "There is no task type “likert. v2”."
    assert problem.fix.startswith("Known types: ")
