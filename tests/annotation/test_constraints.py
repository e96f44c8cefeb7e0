"""What the database refuses, whatever the code does: the invariants that `docs/architecture.md` promises."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from annotation.models import (
    Arm,
    Assignment,
    Hit,
    ItemAuthor,
    Output,
    Participant,
    Posting,
    Rating,
    Step,
    Study,
    Submission,
    Worker,
)
from tests.factories import (
    make_assignment,
    make_author,
    make_invitation,
    make_participant,
    make_study,
    make_submission,
    make_worker,
)

pytestmark = pytest.mark.django_db


def copied(row: models.Model, **changes: Any) -> None:
    """Another row like this one."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if field.name != "id"}
    type(row)._default_manager.create(**values | changes)


def refused(write: Callable[[], object], name: str) -> None:
    """By this constraint and no other: SQLite names a unique one by its columns."""
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        write()
    assert re.search(rf"{name}|{columns_of(name)}$", str(caught.value).strip().splitlines()[0])


def columns_of(wanted: str) -> str:
    for model in apps.get_app_config("annotation").get_models():
        for constraint in model._meta.constraints:
            if constraint.name == wanted and isinstance(constraint, models.UniqueConstraint):
                columns = {field.name: field.column for field in model._meta.concrete_fields}
                return ", ".join(f"{model._meta.db_table}.{columns[name]}" for name in constraint.fields)
    return wanted


def make_output(submission: Submission) -> Output:
    return Output.objects.create(
        study=submission.study, submission=submission, number=0, kind="text", texts=["as it was written"]
    )


# --- what was received never changes ---


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Step, {"answers": {"diversity": 5}}),
        (Submission, {"feedback": "changed"}),
        (Rating, {"value": 1.0}),
        (Output, {"texts": ["changed"]}),
    ],
)
def test_received_rows_refuse_every_update(model: type[models.Model], change: dict[str, object]) -> None:
    make_output(make_submission())
    before = list(model._default_manager.values())
    refused(lambda: model._default_manager.update(**change), "never changed after")
    assert list(model._default_manager.values()) == before


# --- never more than wanted, never twice ---


def test_a_hit_never_has_more_live_assignments_than_wanted_nor_more_submitted_than_live() -> None:
    hit = make_assignment(study=make_study(items=1, ratings_per_item=2)).hit
    refused(lambda: Hit.objects.filter(pk=hit.pk).update(n_live=3), "hit_never_more_than_wanted")
    refused(lambda: Hit.objects.filter(pk=hit.pk).update(n_submitted=2), "hit_submitted_is_live")


@pytest.mark.parametrize("state", ["accepted", "submitted"])
def test_nobody_has_two_live_assignments_of_one_hit(state: str) -> None:
    made = make_submission(study=make_study(ratings_per_item=3)).assignment
    refused(lambda: copied(made, state=state, slot=2, ordinal=2, attempt=2), "assignment_never_two_of_a_hit")
    copied(made, state="abandoned", slot=2, ordinal=2, attempt=2)


def test_a_place_of_a_hit_is_taken_once() -> None:
    study = make_study(items=1, ratings_per_item=3)
    made, other = make_assignment(study=study), make_participant(study=study)
    refused(lambda: copied(made, participant_id=other.pk), "assignment_slot_once")
    copied(made, participant_id=other.pk, slot=1)


def test_a_released_submission_leaves_its_place_and_number_to_others() -> None:
    study = make_study(items=1, ratings_per_item=3)
    made, other = make_submission(study=study).assignment, make_participant(study=study)
    Assignment.objects.filter(pk=made.pk).update(state="released")
    copied(made, participant_id=other.pk)
    refused(lambda: Assignment.objects.filter(pk=made.pk).update(state="submitted"), "assignment_slot_once")


def test_a_workers_nth_hit_is_there_once_and_one_is_open_at_a_time() -> None:
    study = make_study(items=3)
    made = make_submission(study=study).assignment
    hit = Hit.objects.filter(study=study).exclude(pk=made.hit_id)[0]
    refused(lambda: copied(made, hit_id=hit.pk), "assignment_ordinal_once")
    copied(made, hit_id=hit.pk, ordinal=2, state="accepted")
    third = Hit.objects.filter(study=study).exclude(pk__in=[made.hit_id, hit.pk])[0]
    refused(lambda: copied(made, hit_id=third.pk, ordinal=3, state="accepted"), "assignment_one_at_a_time")


def test_each_try_has_its_own_number_and_only_known_states_exist() -> None:
    made = make_assignment()
    refused(lambda: copied(made, state="abandoned"), "assignment_attempt_once")
    refused(lambda: Assignment.objects.update(state="lost"), "assignment_state_known")
    refused(lambda: Assignment.objects.update(ordinal=0), "assignment_ordinal_from_one")


def test_a_step_a_submission_and_a_rating_are_there_once() -> None:
    made = make_submission()
    refused(lambda: copied(made), "annotation_submission.assignment_id")
    refused(lambda: copied(made.assignment.steps.all()[0]), "step_once")
    refused(lambda: copied(made.ratings.all()[0]), "rating_once")


def test_a_rating_about_no_item_and_an_output_are_there_once() -> None:
    made = make_submission()
    about_none = make_submission(study=made.study).ratings.all()[0]
    copied(about_none, item_id=None)
    refused(lambda: copied(about_none, item_id=None), "rating_about_no_item_once|annotation_rating.submission_id")
    output = make_output(made)
    refused(lambda: copied(output), "output_once")
    copied(output, number=1)


def test_every_rating_has_a_value_or_a_text() -> None:
    rating = make_submission().ratings.all()[0]
    refused(lambda: copied(rating, question="other", value=None, text=""), "rating_not_empty")
    copied(rating, question="other", value=0.0, text="")


def test_a_worker_and_a_participation_are_there_once_each_with_a_pseudonym_of_its_own() -> None:
    study = make_study()
    one, other = make_participant(study=study), make_participant(study=study)
    refused(lambda: copied(one.worker), "worker_once")
    refused(lambda: copied(one, pseudonym="w-new"), "participant_once")
    refused(
        lambda: Participant.objects.filter(pk=one.pk).update(pseudonym=other.pseudonym), "participant_pseudonym_once"
    )
    assert Worker.objects.count() == 2


def test_an_author_and_an_invitation_are_there_once() -> None:
    study = make_study(items=1)
    author = make_author(item=study.items.get(), worker=make_worker())
    refused(lambda: copied(author), "itemauthor_once")
    assert ItemAuthor.objects.count() == 1
    invitation = make_invitation(study=study)
    other = make_worker()
    refused(lambda: copied(invitation, key="another", worker_id=other.pk), "invitation_name_once")
    refused(lambda: copied(invitation, key="another", name="bob"), "invitation_worker_once")
    refused(lambda: copied(invitation, name="bob", worker_id=other.pk), "annotation_invitation.key|invitation_key")


# --- studies ---


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"status": "open"}, "study_status_known"),
        ({"reward": "-0.01"}, "study_reward_not_negative"),
        ({"ratings_per_item": 0}, "study_counts_positive"),
        ({"items_per_hit": 0}, "study_counts_positive"),
        ({"time_limit_minutes": 0}, "study_counts_positive"),
        ({"hits_per_worker": 0}, "study_hits_per_worker_positive"),
    ],
)
def test_a_study_has_sensible_figures(change: dict[str, Any], name: str) -> None:
    make_study(items=0)
    refused(lambda: Study.objects.update(**change), name)


@pytest.mark.parametrize(
    ("change", "name"), [({"reward": "-0.01"}, "arm_reward_not_negative"), ({"wanted": 0}, "arm_wanted_positive")]
)
def test_an_arm_has_sensible_figures(change: dict[str, Any], name: str) -> None:
    make_study(items=0)
    refused(lambda: Arm.objects.update(**change), name)


def test_arms_of_a_study_have_different_places_and_names() -> None:
    arm = make_study(items=0, arms=[{"name": "a"}]).arms.get()
    refused(lambda: copied(arm, name="b"), "arm_position_once")
    refused(lambda: copied(arm, position=1), "arm_name_once")
    copied(arm, name="b", position=1)


def test_short_names_items_and_postings_are_there_once() -> None:
    study = make_study(items=2)
    item = study.items.all()[0]
    refused(lambda: copied(study), "annotation_study.slug")
    refused(lambda: copied(item, position=7), "item_external_id_once")
    refused(lambda: copied(item, external_id="other"), "item_position_once")
    refused(lambda: copied(study.hits.all()[0]), "hit_position_once")
    posting = Posting.objects.create(study=study, platform="link", external_id=study.slug, created_at=timezone.now())
    refused(lambda: copied(posting), "posting_once")
