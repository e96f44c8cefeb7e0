"""Coders do not see what others chose before they have coded all of their share."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Item, Participant, Study, Submission
from annotation.studies.members import remove_member
from annotation.studies.storing import close_study
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.member_work import start_member_work, works_blind
from tests.annotation.coding_helpers import code, coder, coding_study
from tests.annotation.console_helpers import signed_in
from tests.factories import make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db

ALL = {"s0": "grammar", "s1": "facts", "s2": "vague"}


def begun() -> tuple[Study, User, User]:
    """anna, an editor, has coded everything; ben, a viewer, nothing yet. Olga owns the study and does not code."""
    study = coding_study()
    coder("olga", study, role="owner")
    anna, ben = coder("anna", study, role="editor"), coder("ben", study)
    code(start_member_work(study=study, user=anna), **ALL)
    start_member_work(study=study, user=ben)
    return study, anna, ben


def pages(study: Study) -> dict[str, str]:
    """Every address that shows what people answered."""
    sent = Submission.objects.filter(study=study).first()
    assert sent is not None
    slug, item = study.slug, Item.objects.filter(study=study).first()
    assert item is not None
    return {
        "items": reverse("console_items", args=[slug]),
        "item": reverse("console_item", args=[slug, item.pk]),
        "submissions": reverse("console_submissions", args=[slug]),
        "submission": reverse("console_submission", args=[slug, sent.pk]),
        "pages of a submission": reverse("console_submission_page", args=[slug, sent.pk]),
        "replay": reverse("console_replay", args=[slug, sent.pk]),
        "worker": reverse("console_worker", args=[slug, sent.participant.pseudonym]),
        "difference": reverse("console_adjudicate", args=[slug, item.pk]),
        "activity": reverse("console_activity", args=[slug]),
        "report": reverse("report", args=[slug]),
        "report as a file": reverse("report_file", args=[slug, "report.json"]),
        "ratings": reverse("export", args=[slug, "long", "csv"]),
        "final labels": reverse("export", args=[slug, "final", "csv"]),
        "bundle": reverse("export", args=[slug, "bundle", "zip"]),
        "items by the API": reverse("api_items", args=[slug]),
        "ratings by the API": reverse("api_ratings", args=[slug]),
    }


def statuses(client: Client, study: Study) -> dict[str, int]:
    return {name: client.get(address).status_code for name, address in pages(study).items()}


def test_a_coder_sees_no_answers_until_their_share_is_done() -> None:
    study, _, ben = begun()
    client = signed_in(ben)
    assert set(statuses(client, study).values()) == {403}
    theirs = Participant.objects.get(worker__platform_id=str(ben.pk))
    for _ in range(2):
        code_next(theirs)
    assert set(statuses(client, study).values()) == {403}
    code_next(theirs)
    after = statuses(client, study)
    # Nobody records edits in this study, so there is nothing to replay.
    assert {name: status for name, status in after.items() if status != 200} == {"replay": 404}


def test_who_is_done_sees_the_report_while_the_other_still_codes() -> None:
    study, anna, _ = begun()
    assert signed_in(anna).get(reverse("report", args=[study.slug])).status_code == 200


def test_an_owner_who_does_not_code_sees_everything() -> None:
    study, _, _ = begun()
    found = statuses(signed_in(User.objects.get(username="olga")), study)
    assert {name for name, status in found.items() if status != 200} == {"replay"}


def test_an_owner_who_codes_is_blind_like_the_others() -> None:
    study = coding_study()
    anna, ben = coder("anna", study, role="owner"), coder("ben", study)
    code(start_member_work(study=study, user=ben), **ALL)
    assert not works_blind(study, anna)
    start_member_work(study=study, user=anna)
    assert works_blind(study, anna)
    assert not works_blind(study, ben)


def test_members_who_could_still_start_are_blind_and_others_are_not() -> None:
    study = coding_study()
    olga, ben, carl = coder("olga", study, role="owner"), coder("ben", study), coder("carl", study, role="editor")
    admin = make_researcher("admin", is_superuser=True)
    assert [works_blind(study, user) for user in (olga, ben, carl, admin)] == [False, True, True, False]
    for name in ("dora", "emil"):
        start_member_work(study=study, user=coder(name, study))
    assert [works_blind(study, user) for user in (olga, ben, carl, admin)] == [False, False, False, False]


def test_the_page_of_the_coding_shows_how_far_others_are_and_no_differences() -> None:
    study, _, ben = begun()
    page = signed_in(ben).get(reverse("console_coding", args=[study.slug])).content.decode()
    assert "3 of 3" in page
    assert "Differences between coders" not in page
    assert reverse("console_worker", args=[study.slug, Participant.objects.first().pseudonym]) not in page  # type: ignore[union-attr]


def test_a_difference_cannot_be_settled_by_a_coder_at_work() -> None:
    study, _, _ = begun()
    carl = coder("carl", study, role="editor")
    item = Item.objects.filter(study=study).first()
    assert item is not None
    remove_member(study=study, user=User.objects.get(username="ben"), actor="olga")
    start_member_work(study=study, user=carl)
    response = signed_in(carl).post(reverse("console_adjudicate", args=[study.slug, item.pk]), {"labels.facts": "yes"})
    assert response.status_code == 403
    assert not item.adjudications.exists()


def test_the_successor_of_a_coder_who_left_is_done_with_what_was_left() -> None:
    """ben coded one item of three before he left: carl's share is the other two."""
    study, _, ben = begun()
    done = code_next(Participant.objects.get(worker__platform_id=str(ben.pk)))
    remove_member(study=study, user=ben, actor="olga")
    carl = coder("carl", study)
    theirs = start_member_work(study=study, user=carl)
    assert works_blind(study, carl)
    code(theirs, **{name: label for name, label in ALL.items() if name != done})
    assert not works_blind(study, carl)
    with pytest.raises(NothingLeft):
        accept_next(participant_id=theirs.pk)
    assert set(study.hits.values_list("n_submitted", flat=True)) == {2}


def code_next(participant: Participant) -> str:
    """Codes the next item. Returns its name."""
    work = Assignment.objects.get(pk=accept_next(participant_id=participant.pk).id)
    name = work.hit.items.get().external_id
    code(participant, **{name: ALL[name]})
    return name


def test_a_closed_study_hides_nothing() -> None:
    study, _, ben = begun()
    close_study(study=study, actor="olga")
    study.refresh_from_db()
    assert not works_blind(study, ben)


@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_studies_of_other_types_hide_nothing(role: str) -> None:
    study = make_study(items=1)
    make_submission(study=study)
    user = coder("anna", study, role=role)
    assert not works_blind(study, user)
    assert signed_in(user).get(reverse("report", args=[study.slug])).status_code == 200


def test_the_page_says_why_and_leads_to_the_coding() -> None:
    study, _, ben = begun()
    page: Any = signed_in(ben).get(reverse("report", args=[study.slug])).content.decode()
    assert "You see this when you have coded all your items" in page
    assert reverse("console_coding", args=[study.slug]) in page
