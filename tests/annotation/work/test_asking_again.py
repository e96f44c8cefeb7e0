"""Gold and attention items that explain: a page with a wrong answer comes back once, and the first answer counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.urls import reverse

from annotation.models import Assignment, Draft, Flag, Participant, Rating, Step, Study, TriedPage
from annotation.review.quality_findings import check_rows
from annotation.work.answers import stored_work, submit_step
from annotation.work.ending import return_assignment
from annotation.work.left_out import excluded_by_rule, gold_answers
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study
from tests.factories import make_assignment, make_participant

pytestmark = pytest.mark.django_db
LOUD = {"gold_mode": "loud"}
RIGHT, WRONG = {"lively": "2", "dull": "5"}, {"lively": "6", "dull": "5"}


def loud_study(**given: Any) -> Study:
    """One hit: the gold text and another one."""
    return gold_study((MAIN[0], GOLD), quality_control=LOUD | given.pop("quality_control", {}), **given)


def at_gold(study: Study, participant: Participant | None = None) -> tuple[WorkerBrowser, Assignment]:
    """Somebody on the page of the gold text, whose right answer to “lively” is 2."""
    work = make_assignment(participant=participant or make_participant(study=study))
    person = WorkerBrowser(work.participant)
    items = [place.item for place in work.hit.places.select_related("item")]
    if items[work.order["items"][0]].role != "gold":
        person.send(lively="4", dull="3")
    return person, work


def finish(person: WorkerBrowser, work: Assignment) -> None:
    work.refresh_from_db()
    if work.state == "accepted":
        person.send(lively="4", dull="3")


def test_a_wrong_answer_brings_the_page_back_once_with_the_explanation() -> None:
    person, work = at_gold(loud_study())
    reply = person.send(**WRONG)
    assert reply.headers["Location"] == f"{person.url}#explained"
    page = fields(person.get())
    assert "Please read this, then answer once more" in page.text
    assert "That is not right." in page.text
    assert "It says one word." in page.text
    assert (page.values["lively"], page.values["dull"]) == ("6", "5")
    assert person.send(lively="5", dull="5").status_code == 303  # still wrong: it is taken
    finish(person, work)
    tries = list(
        TriedPage.objects.order_by("attempt").values_list("attempt", "answers__lively", "verdicts", "training")
    )
    assert tries == [(1, 6.0, {"lively": False}, False), (2, 5.0, {"lively": False}, False)]
    assert Rating.objects.get(item__role="gold", question="lively").value == 5


def test_a_right_answer_is_stored_as_the_first_and_nothing_comes_back() -> None:
    person, work = at_gold(loud_study())
    person.send(**RIGHT)
    finish(person, work)
    assert TriedPage.objects.get().verdicts == {"lively": True}
    assert Rating.objects.get(item__role="gold", question="lively").value == 2


def test_quality_control_counts_the_first_answer_and_the_data_have_the_last() -> None:
    study = loud_study(exclusion={"gold_share_below": 0.5})
    person, work = at_gold(study)
    person.send(**WRONG)
    person.send(**RIGHT)
    finish(person, work)
    assert Rating.objects.get(item__role="gold", question="lively").value == 2
    assert Flag.objects.filter(reason="gold_wrong").count() == 1
    submission = work.participant.submissions.get()
    assert stored_work(submission=submission).as_work().checked("gold") == [False]
    assert gold_answers(study) == {work.participant.pseudonym: (0, 1)}
    assert [(row.right, row.answers) for row in check_rows(study)] == [(0, 1)]
    assert list(excluded_by_rule(study)) == [submission.pk]


def test_silent_items_and_other_roles_stay_as_they_are() -> None:
    person, work = at_gold(loud_study(quality_control={"gold_mode": "silent", "attention_mode": "loud"}))
    person.send(**WRONG)
    finish(person, work)
    assert not TriedPage.objects.exists()
    assert Rating.objects.get(item__role="gold", question="lively").value == 6


def test_a_form_sent_twice_is_one_try() -> None:
    person, _ = at_gold(loud_study())
    form = person.form()
    for answers in (WRONG, WRONG, RIGHT):  # from the page before the explanation
        assert person.post(form, **answers).headers["Location"] == f"{person.url}#explained"
    assert TriedPage.objects.get().answers == {"lively": 6.0, "dull": 5.0}


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_are_one_try() -> None:
    _, work = at_gold(loud_study())
    number = Step.objects.filter(assignment=work).count()

    def send(_: int) -> str:
        try:
            ids = {"assignment_id": work.pk, "participant_id": work.participant_id}
            return submit_step(**ids, number=number, data=WRONG, timing={}).kind
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(send, range(4))) == ["explained"] * 4
    assert TriedPage.objects.count() == 1
    assert Step.objects.filter(assignment=work).count() == number


def test_an_incomplete_page_is_no_try_and_keeps_the_explanation() -> None:
    person, _ = at_gold(loud_study())
    assert person.send(lively="6").status_code == 422
    assert not TriedPage.objects.exists()
    person.send(**WRONG)
    page = person.post(person.form(), lively="2")
    assert page.status_code == 422
    assert "It says one word." in fields(page).text


def test_a_draft_after_the_explanation_comes_back() -> None:
    person, _ = at_gold(loud_study())
    person.draft(person.form(), **WRONG)
    person.send(**WRONG)
    assert not Draft.objects.exists()
    person.draft(person.form(), lively="3")
    assert fields(person.get()).values["lively"] == "3"


def test_a_try_at_work_that_was_given_back_is_not_stored() -> None:
    person, work = at_gold(loud_study())
    form = person.form()
    return_assignment(assignment_id=work.pk, participant_id=work.participant_id)
    assert person.post(form, **WRONG).status_code == 409
    assert not TriedPage.objects.exists()


def test_a_condition_that_hides_a_question_after_the_explanation_leaves_the_first_answer() -> None:
    """The first answers are those of the first form, whatever the second shows."""
    study = loud_study()
    person, work = at_gold(study)
    person.send(lively="7", dull="7")
    person.send(lively="2", dull="1")
    finish(person, work)
    rows = TriedPage.objects.get(attempt=1).ratings
    assert {row["question"]: (row["value"], row["right"]) for row in rows} == {
        "lively": (7.0, False),
        "dull": (7.0, None),
    }


def test_the_address_of_the_page_does_not_change() -> None:
    person, _ = at_gold(loud_study())
    person.send(**WRONG)
    assert person.client.get(reverse("work", args=[person.token])).status_code == 200
