"""The training round: practice pages before the first task, which of their answers were right, and who may go on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction

from annotation.models import (
    Arm,
    Assignment,
    AuditEntry,
    Hit,
    QuestionnaireDraft,
    Rating,
    Step,
    Submission,
    TakenItem,
    TriedPage,
)
from annotation.work.allocation import accept_next
from annotation.work.answers import submit_step
from annotation.work.taking_training import send_training_page
from tests.annotation.pages import fields
from tests.annotation.questionnaire_helpers import COUNT, FLUENT
from tests.annotation.training_helpers import RIGHT, WRONG, Trainee, training_study
from tests.factories import make_participant, make_worker

pytestmark = pytest.mark.django_db


def test_the_training_comes_before_the_first_task_and_explains_each_page() -> None:
    person = Trainee(training_study())
    page = fields(person.get())
    assert "Practice · Step 1 of 2" in page.text
    assert "You need 2 of 2 right to start the task. This is try 1 of 2." in page.text
    assert "Buzz buzz buzz." in page.text
    reply = person.practise({"lively": "2", "dull": "1"})
    assert reply.headers["Location"] == f"{person.training_url}#explained"
    told = person.feedback().text
    assert "Not all of your answers were right" in told
    assert "You answered “2”. That is right." in told
    assert "That is not right. Nothing happens." in told
    assert "It says one word." in told
    assert "The right answer:" not in told
    assert "Buzz buzz buzz." in told  # the page is there to be looked at again
    assert "An owl sold maps of the wind." in fields(person.get()).text


def test_right_answers_are_shown_where_the_study_says_so() -> None:
    person = Trainee(training_study(settings={"training_show_right": True}))
    person.practise(WRONG)
    assert "The right answer: “2”." in person.feedback().text
    assert "The right answer: “from 6 to 7”." in person.feedback().text


def test_who_passes_goes_on_to_the_task_and_nothing_of_it_is_a_rating() -> None:
    study = training_study()
    person = Trainee(study)
    person.round(RIGHT["t1"], RIGHT["t2"])
    assert "You have passed the practice." in person.feedback().text
    assert not person.practises
    assert list(TriedPage.objects.order_by("pk").values_list("place", "passed")) == [(0, None), (1, True)]
    assert not (Step.objects.exists() or Rating.objects.exists() or Submission.objects.exists())
    # The items of the training are in no hit, and count as had by nobody.
    assert set(Hit.objects.values_list("items__role", flat=True)) == {"main"}
    assert set(TakenItem.objects.values_list("item__role", flat=True)) == {"main"}
    person.send(lively="4", dull="2")
    assert Rating.objects.filter(item__role="main").count() == Rating.objects.count() > 0


def test_a_failed_round_begins_again_and_the_last_one_ends_the_participation() -> None:
    study = training_study(settings={"training_message": "Thank you all the same."})
    person = Trainee(study)
    person.round(RIGHT["t1"], WRONG)
    assert "Right: 1 of 2. Needed: 2. The practice begins again" in person.feedback().text
    page = fields(person.get())
    assert "Step 1 of 2" in page.text
    assert "This is your last try." in page.text
    assert Hit.objects.filter(n_live=1).exists()
    person.round(RIGHT["t1"], WRONG)
    assert "There are no more tries." in person.feedback().text
    person.participant.refresh_from_db()
    assert person.participant.turned_away == "not_trained"
    assert not Hit.objects.filter(n_live__gt=0).exists()
    assert Assignment.objects.get().state == "returned"
    assert Arm.objects.get().n_enrolled == 0
    assert "Thank you all the same." in person.client.get(person.done_url).content.decode()
    assert AuditEntry.objects.filter(action="fail the training").count() == 1


def test_fewer_right_items_can_be_enough() -> None:
    person = Trainee(training_study(settings={"training_needed": 1}))
    person.round(WRONG, RIGHT["t2"])
    assert not person.practises


def test_an_item_with_one_wrong_answer_is_not_right() -> None:
    person = Trainee(training_study(settings={"training_needed": 1, "training_tries": 1}))
    person.round({"lively": "2", "dull": "1"}, WRONG)
    person.participant.refresh_from_db()
    assert person.participant.turned_away == "not_trained"


def test_questions_and_the_check_come_first() -> None:
    person = Trainee(training_study(settings={"before": [FLUENT], "comprehension": [COUNT]}))
    assert fields(person.get()).values["asks"] == "before"
    outcome = send_training_page(participant_id=person.participant.pk, attempt=1, place=0, data=RIGHT["t1"], timing={})
    assert outcome.kind == "stale"
    assert not TriedPage.objects.exists()


def test_nobody_sends_a_task_before_the_training() -> None:
    participant = make_participant(study=training_study())
    work = accept_next(participant_id=participant.pk)
    outcome = submit_step(assignment_id=work.id, participant_id=participant.pk, number=0, data=RIGHT["t1"], timing={})
    assert outcome.kind == "stale"
    assert not Step.objects.exists()


def test_a_page_sent_twice_is_one_answer() -> None:
    person = Trainee(training_study())
    form = person.form()
    for answers in (RIGHT["t1"], WRONG):
        assert person.practise(answers, form).status_code == 303
    assert TriedPage.objects.get().answers == {"lively": 2.0, "dull": 6.0}


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_take_one_try() -> None:
    participant = make_participant(study=training_study())

    def send(lively: str) -> str:
        try:
            return send_training_page(
                participant_id=participant.pk, attempt=1, place=0, data={"lively": lively, "dull": "6"}, timing={}
            ).kind
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(send, "2345"))
    assert sorted(outcomes) == ["repeated", "repeated", "repeated", "stored"]
    assert TriedPage.objects.count() == 1


def test_who_comes_back_later_continues_at_the_same_page_of_the_same_round() -> None:
    study = training_study()
    person = Trainee(study)
    person.round(RIGHT["t1"])
    Assignment.objects.update(state="abandoned")  # the time of the task ran out
    Hit.objects.update(n_live=0)
    page = fields(person.get())
    assert "Step 2 of 2" in page.text
    assert "This is try 1 of 2." in page.text
    person.round(RIGHT["t2"])
    assert not person.practises


def test_what_is_typed_comes_back() -> None:
    person = Trainee(training_study())
    draft = {"form": person.form(), "lively": "3"}
    assert person.client.post(f"{person.training_url}draft", draft).status_code == 204
    assert fields(person.get()).values["lively"] == "3"
    person.round(RIGHT["t1"])
    assert not QuestionnaireDraft.objects.exists()
    assert person.client.post(f"{person.training_url}draft", draft).status_code == 409


def test_a_page_that_is_not_complete_says_so_and_is_no_try() -> None:
    person = Trainee(training_study())
    reply = person.practise({"lively": "2"})
    assert reply.status_code == 422
    assert "Please choose one answer." in fields(reply).text
    assert fields(reply).values["lively"] == "2"
    assert not TriedPage.objects.exists()


def test_nobody_answers_for_somebody_else() -> None:
    study = training_study()
    ann, ben = Trainee(study), Trainee(study)
    assert ann.practise(RIGHT["t1"], ben.form()).status_code == 404
    assert ann.practise(RIGHT["t1"], "nonsense").status_code == 404


def test_who_passed_the_training_of_a_named_study_skips_it() -> None:
    first = training_study()
    worker, other = make_worker(name="one"), make_worker(name="two")
    Trainee(first, make_participant(study=first, worker=worker)).round(RIGHT["t1"], RIGHT["t2"])
    Trainee(first, make_participant(study=first, worker=other)).round(RIGHT["t1"], WRONG)
    second = training_study(slug="owls-2", settings={"training_skip_if_passed": ["owls"]})
    third = training_study(slug="owls-3")
    assert not Trainee(second, make_participant(study=second, worker=worker)).practises
    assert Trainee(second, make_participant(study=second, worker=other)).practises
    assert Trainee(third, make_participant(study=third, worker=worker)).practises


def test_the_database_refuses_changes_and_mixed_rows() -> None:
    person = Trainee(training_study())
    person.round(RIGHT["t1"])
    row = TriedPage.objects.get()
    for change in (lambda: TriedPage.objects.update(passed=True), lambda: TriedPage.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    row.pk, row.place, row.training = None, 7, False  # among the tasks, but of no assignment
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)
