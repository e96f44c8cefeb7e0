"""Members who do a study's work: who can start, who takes over, and how outsiders are kept away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse

from annotation.models import Assignment, Membership, Participant, Posting, Study, Submission
from annotation.people import invitations
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting.publishing import plan_postings
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.studies.members import add_member, remove_member
from annotation.table_files import read_table
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.coded_items import coders_of
from annotation.work.ending import return_assignment
from annotation.work.member_work import reasons_not_to_start, start_member_work
from common.problems import Invalid
from tests.annotation.coding_helpers import LABELS, code, coder, coding_study
from tests.annotation.console_helpers import signed_in
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_researcher, make_study

pytestmark = pytest.mark.django_db

ALL = {"s0": "grammar", "s1": "facts", "s2": "vague"}


# --- starting ---


def test_members_start_and_start_again_as_the_same_person() -> None:
    study = coding_study()
    anna = coder("anna", study)
    first = start_member_work(study=study, user=anna)
    assert start_member_work(study=study, user=anna) == first
    assert (first.worker.platform, first.worker.platform_id) == ("member", str(anna.pk))
    assert first.consented_at is None


def test_people_who_are_not_members_cannot_start() -> None:
    study = coding_study()
    for user in (make_researcher("stranger"), make_researcher("admin", is_superuser=True)):
        with pytest.raises(Invalid, match="Only members of the study can code"):
            start_member_work(study=study, user=user)
    assert not Participant.objects.exists()


def test_other_types_have_no_work_for_members() -> None:
    study = make_study(items=1)
    with pytest.raises(Invalid, match="Members do not do the work"):
        start_member_work(study=study, user=coder("anna", study))


def test_a_third_member_cannot_start_while_two_code() -> None:
    study = coding_study()
    for name in ("anna", "ben"):
        start_member_work(study=study, user=coder(name, study))
    with pytest.raises(Invalid, match="anna and ben are coding; this study has 2 coders"):
        start_member_work(study=study, user=coder("carl", study))


def test_nobody_starts_in_a_paused_study_but_who_has_started_can_return_to_their_page() -> None:
    study = coding_study()
    anna, ben = coder("anna", study), coder("ben", study)
    start_member_work(study=study, user=anna)
    study.status = study.Status.PAUSED
    study.save()
    assert reasons_not_to_start(study, anna) == []
    assert "paused" in reasons_not_to_start(study, ben)[0].what


# --- leaving ---


def test_the_codes_of_a_coder_who_leaves_stay_and_another_member_does_the_rest() -> None:
    study = coding_study()
    anna, ben = coder("anna", study, role="owner"), coder("ben", study)
    code(start_member_work(study=study, user=anna), **ALL)
    bens = start_member_work(study=study, user=ben)
    accept_next(participant_id=bens.pk)
    remove_member(study=study, user=ben, actor="anna")
    assert Assignment.objects.get(participant=bens).state == Assignment.State.ABANDONED
    with pytest.raises(NothingLeft) as nothing:
        accept_next(participant_id=bens.pk)
    assert nothing.value.reason == "excluded"
    carl = start_member_work(study=study, user=coder("carl", study))
    code(carl, **ALL)
    assert set(study.hits.values_list("n_submitted", flat=True)) == {2}
    assert [(each.name, each.active, each.items) for each in coders_of(study)] == [
        ("anna", True, 3),
        ("ben", False, 0),
        ("carl", True, 3),
    ]


def test_what_a_coder_sent_before_they_left_still_counts() -> None:
    study = coding_study(items=1)
    coder("anna", study, role="owner")
    ben = coder("ben", study)
    (sent,) = code(start_member_work(study=study, user=ben), s0="facts")
    remove_member(study=study, user=ben, actor="anna")
    assert not sent.reviews.exists()
    assert study.hits.get().n_submitted == 1


def test_a_member_who_comes_back_continues() -> None:
    study = coding_study()
    coder("anna", study, role="owner")
    ben = coder("ben", study)
    theirs = start_member_work(study=study, user=ben)
    first = accept_next(participant_id=theirs.pk)
    remove_member(study=study, user=ben, actor="anna")
    add_member(study=study, user=ben, role="viewer", actor="anna")
    assert start_member_work(study=study, user=ben) == theirs
    assert accept_next(participant_id=theirs.pk).id == first.id
    code(theirs, **ALL)


def test_a_coder_who_gives_a_task_back_gets_it_again_later() -> None:
    """There may be no third coder to do it."""
    study = coding_study(items=1)
    theirs = start_member_work(study=study, user=coder("anna", study))
    given = accept_next(participant_id=theirs.pk)
    assert return_assignment(assignment_id=given.id, participant_id=theirs.pk)
    code(theirs, s0="facts")


# --- no way in for others ---


def draft_of_coding(**values: Any) -> Study:
    return make_study(task_type="comment_coding", live=False, **({"items": 3, "hits_per_worker": None} | values))


def test_a_launch_makes_no_link_and_the_address_of_the_link_sends_people_away() -> None:
    study = draft_of_coding()
    publish(study=study, actor="anna")
    assert not Posting.objects.exists()
    response = signed_in(make_researcher("anna")).get(reverse("study_start", args=[study.slug]))
    assert response.status_code == 403
    assert "for members of the research team" in fields(response).text


def test_a_launch_needs_a_reward_of_zero_and_no_limit_of_hits() -> None:
    study = draft_of_coding(reward="0.50", hits_per_worker=1)
    found = {problem.where: problem.what for problem in reasons_not_to_publish(study)}
    assert set(found) == {"reward", "hits_per_worker"}
    assert found["hits_per_worker"] == "A coder could code only 1 of 3 items."


def test_there_are_no_personal_links_and_no_platform() -> None:
    study = coding_study()
    with pytest.raises(Invalid, match="Members of the study do this work"):
        invitations.invite(study=study, names=["anna"], actor="anna")
    with pytest.raises(Invalid, match="cannot be offered to workers"):
        plan_postings(study=study, platform=Mturk.offline(), actor="anna")


# --- the console ---


def test_a_coder_goes_from_the_console_to_the_pages_and_back() -> None:
    study = coding_study(items=1)
    anna = coder("anna", study)
    client = signed_in(anna)
    page = fields(client.get(reverse("console_coding", args=[study.slug])))
    assert "Nobody has started yet." in page.text
    assert "It has only 1 member" in page.text
    started = client.post(reverse("console_start_coding", args=[study.slug]))
    participant = Participant.objects.get()
    browser = WorkerBrowser(participant)
    assert started.headers["Location"] == browser.url
    assert "Which labels apply?" in fields(browser.get()).text
    browser.send(**{"labels.facts": "yes"})
    done = browser.client.get(browser.done_url).content.decode()
    assert reverse("console_coding", args=[study.slug]) in done
    assert participant.completion_code not in done
    assert "You have coded 1 of 1 item." in fields(client.get(reverse("console_coding", args=[study.slug]))).text
    assert Submission.objects.get().participant == participant


def test_the_console_says_why_a_member_cannot_start() -> None:
    study = coding_study()
    for name in ("anna", "ben"):
        start_member_work(study=study, user=coder(name, study))
    client = signed_in(coder("carl", study))
    page = fields(client.get(reverse("console_coding", args=[study.slug])))
    assert "anna and ben are coding" in page.text
    assert client.post(reverse("console_start_coding", args=[study.slug])).status_code == 302
    assert Participant.objects.count() == 2


def test_studies_of_other_types_have_no_coding_page() -> None:
    study = make_study(items=1)
    client = signed_in(coder("anna", study, role="owner"))
    assert client.get(reverse("console_coding", args=[study.slug])).status_code == 404
    assert "/coding/" not in client.get(reverse("console_study", args=[study.slug])).content.decode()


def test_removing_a_coder_says_what_stays() -> None:
    study = coding_study(items=1)
    anna, ben = coder("anna", study, role="owner"), coder("ben", study)
    code(start_member_work(study=study, user=ben), s0="facts")
    response = signed_in(anna).post(reverse("console_remove_member", args=[study.slug, ben.pk]), follow=True)
    assert "Their codes of 1 item stay." in response.content.decode()
    assert not Membership.objects.filter(user=ben).exists()


def test_the_example_file_can_be_imported_and_launched() -> None:
    study = draft_of_coding(items=0, config={"labels": LABELS})
    with (Path(settings.BASE_DIR) / "examples" / "explanations.csv").open("rb") as file:
        import_items(study=study, table=read_table(file, name="explanations.csv"), actor="anna")
    publish(study=study, actor="anna")


def test_the_page_of_a_coder_who_left_says_that_their_codes_count() -> None:
    study = coding_study(items=1)
    anna, ben = coder("anna", study, role="owner"), coder("ben", study)
    theirs = start_member_work(study=study, user=ben)
    code(theirs, s0="facts")
    remove_member(study=study, user=ben, actor="anna")
    address = reverse("console_worker", args=[study.slug, theirs.pseudonym])
    page = fields(signed_in(anna).get(address)).text
    assert "What they sent before stays and counts." in page
    assert "The report leaves out everything they sent" not in page


def test_a_new_study_in_the_console_suggests_two_coders_and_no_limit() -> None:
    client = signed_in(make_researcher("anna"))
    page = fields(client.get(reverse("console_new_settings", args=["comment_coding"])))
    assert (page.values["ratings_per_item"], page.values["hits_per_worker"]) == ("2", "")
    page = fields(client.get(reverse("console_new_settings", args=["likert"])))
    assert (page.values["ratings_per_item"], page.values["hits_per_worker"]) == ("9", "")
