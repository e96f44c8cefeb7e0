"""What people are asked before their first task and after their last one, and whom their answers turn away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.test import Client
from django.urls import reverse

from annotation.instrument import training_items
from annotation.models import (
    Arm,
    Assignment,
    AuditEntry,
    Hit,
    Participant,
    PartPayment,
    QuestionnaireDraft,
    QuestionnaireReply,
    Rating,
    Step,
    Study,
)
from annotation.tokens import participant_token, questions_token
from annotation.work.allocation import accept_next
from annotation.work.answers import submit_step
from annotation.work.part_pay import unpaid_parts
from tests.annotation.pages import fields
from tests.annotation.questionnaire_helpers import COUNT, FLUENT, REMARK, SCREENING, Person, asking_study
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
CHECK: dict[str, Any] = {"comprehension": [COUNT]}


def begun(study: Study) -> Person:
    return Person(make_participant(study=study))


def test_the_questions_come_before_the_first_task_and_are_asked_once() -> None:
    study = asking_study(before=["demographics"], study={"hits_per_worker": None})
    person = begun(study)
    page = fields(person.get())
    assert page.values["asks"] == "before"
    assert "How old are you?" in page.text
    assert "Prefer not to say" in page.text
    answers = {"age": "3", "gender": "1", "native_language.german": "yes", "education": "5"}
    answers |= {"english_proficiency": "4", "text_experience": "0", "country": "Austria"}
    assert person.answer(**answers).headers["Location"] == person.url
    assert person.asks() == ""
    reply = QuestionnaireReply.objects.get()
    assert (reply.questionnaire, reply.attempt, reply.passed) == ("before", 1, None)
    assert reply.answers["native_language"] == ["german"]
    assert reply.answers["age"] == 3.0
    person.finish()
    assert person.asks() == ""  # the second hit begins with the task
    assert Step.objects.count() == 3


def test_a_wrong_form_shows_what_is_missing_and_keeps_what_was_typed() -> None:
    person = begun(asking_study(before=[FLUENT, REMARK]))
    reply = person.answer(remark="The  words")
    page = fields(reply)
    assert reply.status_code == 422
    assert "Please choose one answer." in page.text
    assert page.values["remark"] == "The  words"
    assert not QuestionnaireReply.objects.exists()


def test_nobody_sends_a_task_before_the_questions() -> None:
    study = asking_study(before=[FLUENT])
    participant = make_participant(study=study)
    work = accept_next(participant_id=participant.pk)
    outcome = submit_step(
        assignment_id=work.id, participant_id=participant.pk, number=0, data={"own": "Some words."}, timing={}
    )
    assert outcome.kind == "stale"
    assert not Step.objects.exists()


def test_drafts_are_saved_and_come_back() -> None:
    person = begun(asking_study(before=[FLUENT, REMARK]))
    form = person.form()
    url = reverse("work_questions_draft", args=[person.token])
    assert person.client.post(url, {"form": form, "remark": "half a"}).status_code == 204
    assert person.client.post(url, {"form": form, "remark": "half a word\0"}).status_code == 204
    assert fields(person.get()).values["remark"] == "half a word"
    person.answer(fluent="1", remark="a word")
    assert not QuestionnaireDraft.objects.exists()
    assert person.client.post(url, {"form": form, "remark": "late"}).status_code == 409


def test_times_are_recorded_and_implausible_ones_dropped() -> None:
    person = begun(asking_study(before=[FLUENT]))
    timing = '{"fluent": {"seconds": 4.5, "at": -3, "pastes": 0}, "other": {"seconds": 1}}'
    person.answer(fluent="1", timing=timing)
    assert QuestionnaireReply.objects.get().timing == {"fluent": {"seconds": 4.5, "pastes": 0.0}}


def test_sending_twice_changes_nothing() -> None:
    person = begun(asking_study(before=[FLUENT]))
    form = person.form()
    for answer in ("1", "2"):
        assert person.client.post(person.questions_url, {"form": form, "fluent": answer}).status_code == 303
    assert QuestionnaireReply.objects.get().answers == {"fluent": 1.0}


@pytest.mark.parametrize("form", ["", "nonsense", "1-1~before.AAAA"])
def test_a_form_that_this_server_did_not_make_is_refused(form: str) -> None:
    person = begun(asking_study(before=[FLUENT]))
    assert person.client.post(person.questions_url, {"form": form, "fluent": "1"}).status_code == 404


def test_nobody_answers_for_somebody_else_or_ahead_of_time() -> None:
    study = asking_study(before=[FLUENT], comprehension=[COUNT], after=[REMARK])
    ann, ben = begun(study), begun(study)
    stolen = ben.form()
    assert ann.client.post(ann.questions_url, {"form": stolen, "fluent": "1"}).status_code == 404
    pk = Participant.objects.order_by("pk")[0].pk
    for name in ("comprehension", "after", "other"):
        form = questions_token(pk, name, 1)
        assert ann.client.post(ann.questions_url, {"form": form, "how_many": "5"}).status_code == 303
    assert (
        ann.client.post(ann.questions_url, {"form": questions_token(pk, "before", 2), "fluent": "1"}).status_code == 303
    )
    assert not QuestionnaireReply.objects.exists()


def test_the_database_refuses_second_answers_and_changes() -> None:
    person = begun(asking_study(before=[FLUENT]))
    person.answer(fluent="1")
    reply = QuestionnaireReply.objects.get()
    again = {"study": reply.study, "participant": reply.participant, "answers": {}, "received_at": reply.received_at}
    for wrong in (
        {"questionnaire": "before"},
        {"questionnaire": "before", "attempt": 2},
        {"questionnaire": "after", "attempt": 2},
        {"questionnaire": "comprehension", "attempt": 0},
        {"questionnaire": "during"},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            QuestionnaireReply.objects.create(**again, **wrong)
    for change in (
        lambda: QuestionnaireReply.objects.update(answers={}),
        lambda: QuestionnaireReply.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            change()


# --- screening ---


def test_who_is_screened_out_gets_no_task_and_frees_the_place() -> None:
    study = asking_study(**SCREENING, screen_out_message="We need fluent speakers.")
    person = begun(study)
    person.get()
    sent = person.answer(fluent="2")
    page = person.client.get(sent.headers["Location"])
    assert page.status_code == 403
    assert "You cannot take part in this study" in page.content.decode()
    assert "We need fluent speakers." in page.content.decode()
    assert person.client.get(person.url).status_code == 403
    participant = Participant.objects.get()
    assert participant.turned_away == "screened_out"
    assert Assignment.objects.get().state == "returned"
    assert list(Hit.objects.values_list("n_live", flat=True)) == [0, 0]
    assert study.arms.get().n_enrolled == 0
    assert AuditEntry.objects.get().action == "screen out"
    assert not Rating.objects.exists()
    assert not PartPayment.objects.exists()
    # Their record is still theirs to read.
    assert "answers" in person.client.get(reverse("work_record_csv", args=[person.token])).content.decode()


def test_screening_out_can_pay() -> None:
    person = begun(asking_study(**SCREENING, screen_out_reward="0.10"))
    person.get()
    sent = person.answer(fluent="2")
    page = person.client.get(sent.headers["Location"]).content.decode()
    participant = Participant.objects.get()
    assert "You get $0.10 for your answers." in page
    assert participant.completion_code in page
    assert Assignment.objects.get().state == "stopped"
    assert [part.amount for part in unpaid_parts(participant.study)] == [Decimal("0.10")]
    assert list(Hit.objects.values_list("n_live", flat=True)) == [0, 0]


def test_nobody_who_was_screened_out_can_try_again_with_the_same_identity() -> None:
    study = asking_study(**SCREENING, study={"identity": "browser"})
    start = reverse("study_start", args=[study.slug])
    key = "0" * 32
    client = Client()
    form = fields(client.get(start)).values | {"browser": key}
    url = client.post(start, form).headers["Location"]
    person = Person(Participant.objects.get(), url)
    person.get()
    person.answer(fluent="2")
    again = client.post(start, fields(client.get(start)).values | {"browser": key})
    assert again.headers["Location"] == url
    assert client.get(url).status_code == 403
    assert Participant.objects.count() == 1


def test_who_is_let_in_is_recorded_as_such() -> None:
    person = begun(asking_study(**SCREENING))
    person.answer(fluent="1")
    assert QuestionnaireReply.objects.get().passed is True
    assert person.asks() == ""


# --- comprehension ---


def test_the_number_of_tries_is_said_first_and_the_second_explains() -> None:
    person = begun(asking_study(**CHECK))
    page = fields(person.get())
    assert "You have 2 tries" in page.text
    assert "This is try 1 of 2." in page.text
    assert "A page shows one set of five replies." not in page.text
    assert '<details class="aside" open>' in person.get().content.decode()
    assert person.answer(how_many="3").headers["Location"] == person.url
    page = fields(person.get())
    assert "Not all of your answers were right" in page.text
    assert "A page shows one set of five replies." in page.text
    assert "This is your last try." in page.text
    person.answer(how_many="5")
    assert person.asks() == ""
    assert list(QuestionnaireReply.objects.values_list("attempt", "passed")) == [(1, False), (2, True)]


def test_failing_the_last_try_ends_the_participation_politely() -> None:
    person = begun(asking_study(**CHECK, before=[FLUENT]))
    person.answer(fluent="1")
    for _ in range(2):
        sent = person.answer(how_many="3")
    page = person.client.get(sent.headers["Location"])
    assert page.status_code == 403
    assert "there are no more tries" in page.content.decode()
    assert Participant.objects.get().turned_away == "not_understood"
    assert AuditEntry.objects.get().action == "fail the comprehension check"
    assert QuestionnaireReply.objects.filter(questionnaire="comprehension", passed=False).count() == 2
    assert not PartPayment.objects.exists()


def test_the_right_answers_are_not_on_the_page() -> None:
    """The page offers both options alike; only the server knows which is right."""
    html = begun(asking_study(**CHECK)).get().content.decode()
    assert "explanation" not in html
    assert "checked" not in html


# --- after ---


def test_the_last_questions_come_after_the_last_task() -> None:
    person = begun(asking_study(after=[REMARK]))
    sent = person.finish()
    assert sent.headers["Location"] == person.done_url
    last = person.client.get(person.done_url)
    assert last.headers["Location"] == person.questions_url
    assert "What was hard?" in person.client.get(person.questions_url).content.decode()
    answered = person.answer(at=person.questions_url, remark="Nothing")
    assert answered.headers["Location"] == person.done_url
    assert Participant.objects.get().completion_code in person.client.get(person.done_url).content.decode()
    assert person.client.get(person.questions_url).headers["Location"] == person.done_url
    assert QuestionnaireReply.objects.get().answers == {"remark": "Nothing"}


def test_who_can_do_more_tasks_is_offered_the_last_questions() -> None:
    person = begun(asking_study(after=[REMARK], study={"hits_per_worker": None}))
    person.finish()
    page = person.client.get(person.done_url)
    assert page.status_code == 200
    assert person.questions_url in page.content.decode()
    person.answer(at=person.questions_url)
    assert person.questions_url not in person.client.get(person.done_url).content.decode()
    person.finish()
    assert person.client.get(person.done_url).status_code == 200  # asked once
    assert QuestionnaireReply.objects.count() == 1


def test_nobody_is_asked_the_last_questions_before_a_task() -> None:
    person = begun(asking_study(after=[REMARK]))
    assert person.client.get(person.questions_url).headers["Location"] == person.done_url
    assert person.client.get(person.done_url).status_code == 200


# --- what it costs ---


def test_a_study_without_questionnaires_makes_no_query_more(django_assert_num_queries: Any) -> None:
    """One query shows the step that is due: `test_pages` counts the same."""
    person = begun(make_study())
    person.get()
    with django_assert_num_queries(1):
        person.get()


def test_once_the_first_step_is_sent_the_questions_cost_no_query(django_assert_num_queries: Any) -> None:
    person = begun(asking_study(before=[FLUENT]))
    person.answer(fluent="1")
    training_items(Arm.objects.get().pk)  # read once in each process
    with django_assert_num_queries(2):
        person.get()
    person.send(own="I would ask the neighbours.")
    with django_assert_num_queries(1):
        person.get()


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_store_one_answer() -> None:
    study = asking_study(**SCREENING, screen_out_reward="0.10")
    participant = make_participant(study=study)
    accept_next(participant_id=participant.pk)
    token, form = participant_token(participant.pk), questions_token(participant.pk, "before", 1)

    def send(_: int) -> int:
        try:
            url = reverse("work_questions", args=[token])
            return Client().post(url, {"form": form, "fluent": "2"}).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(send, range(4))) == {303}
    assert QuestionnaireReply.objects.count() == PartPayment.objects.count() == 1
    study.arms.get()
    assert study.arms.get().n_enrolled == 0
