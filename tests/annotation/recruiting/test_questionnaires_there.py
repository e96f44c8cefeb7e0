"""Questionnaires for workers who come from a platform: the marketplace, Prolific, another panel."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.quality_control.work import Check
from annotation.models import Assignment, Compensation, Item, Participant, PartPayment, Posting, QuestionnaireReply
from annotation.platforms.base import Claim
from annotation.platforms.mturk.platform import Mturk
from annotation.platforms.prolific.codes import code_for
from annotation.recruiting.arrivals import accept_hit, why_barred
from annotation.recruiting.compensating import compensate
from annotation.studies.storing import change_study
from annotation.tokens import participant_token
from annotation.work.part_pay import unpaid_parts_there
from marketplace.models import Hit as MarketHit
from tests.annotation.pages import fields
from tests.annotation.questionnaire_helpers import COUNT, FLUENT, REMARK, SCREENING, Person, stored
from tests.annotation.recruiting.helpers import accept_there, finish_assignment, posted_study
from tests.annotation.recruiting.prolific_helpers import ANN, draft, run
from tests.annotation.recruiting.prolific_server import Prolific as Server
from tests.annotation.recruiting.test_panel import on_panel, visit
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


def come(posting: Posting, who: str, assignment_id: str) -> Person:
    """Somebody who has accepted the work on the platform and passed the start page here."""
    claim = Claim(posting.platform, who, assignment_id, "https://market.example")
    work = accept_hit(posting=posting, claim=claim, expires_at=timezone.now() + timedelta(hours=1), consented=False)
    return Person(work.participant, reverse("work", args=[participant_token(work.participant_id, work.pk)]))


def test_on_mturk_the_questions_come_once_whichever_hit_comes_first(api: Mturk) -> None:
    study = posted_study(api, questionnaires=stored(before=[FLUENT], after=[REMARK]))
    first, second = Posting.objects.filter(study=study).order_by("pk")[:2]
    one = come(first, "A1WORKER", "one")
    assert one.asks() == "before"
    one.answer(fluent="1")
    assert one.asks() == ""
    other = come(second, "A1WORKER", "two")
    assert other.asks() == ""
    one.finish()
    page = one.client.get(one.done_url).content.decode()  # another hit is open: nobody has to answer now
    assert one.questions_url in page
    assert "Answer a few last questions" in page
    other.finish()
    assert other.client.get(other.done_url).headers["Location"] == other.questions_url
    assert other.answer(at=other.questions_url).headers["Location"] == other.done_url
    handing_in = other.client.get(other.done_url)
    assert 'name="assignmentId" value="two"' in handing_in.content.decode()
    assert QuestionnaireReply.objects.count() == 2


def test_the_last_questions_never_cost_the_time_to_hand_in(api: Mturk) -> None:
    study = posted_study(api, items=1, questionnaires=stored(after=[REMARK]))
    person = come(Posting.objects.get(study=study), "A1WORKER", "one")
    person.finish()
    Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=2))
    page = person.client.get(person.done_url)
    assert page.status_code == 200
    assert 'name="assignmentId"' in page.content.decode()


def test_on_mturk_who_is_screened_out_returns_the_hit_and_is_compensated(api: Mturk) -> None:
    """MTurk pays nobody less than a HIT's reward through the HIT, so the amount is paid by a HIT of its own."""
    study = posted_study(api, questionnaires=stored(**SCREENING, screen_out_reward="0.10"))
    posting = Posting.objects.filter(study=study).order_by("pk")[0]
    market_worker = make_market_worker()
    accepted = accept_there(posting, market_worker)
    person = come(posting, market_worker.worker_id, accepted.assignment_id)
    person.get()
    sent = person.answer(fluent="2")
    page = person.client.get(sent.headers["Location"]).content.decode()
    assert "You cannot take part in this study" in page
    assert "Please return this HIT." in page
    (owed,) = unpaid_parts_there(study)
    assert owed.amount == Decimal("0.10")
    compensate(work=owed.assignment, amount=owed.amount, reason="For your answers.", platform=api, actor="test")
    assert Compensation.objects.get().external_id in set(MarketHit.objects.values_list("hit_id", flat=True))
    claim = Claim("mturk", market_worker.worker_id, "again")
    other = Posting.objects.filter(study=study).order_by("pk")[1]
    assert why_barred(posting=other, claim=claim) == "turned_away"


def test_failing_the_check_on_mturk_means_returning_the_hit(api: Mturk) -> None:
    study = posted_study(api, questionnaires=stored(comprehension=[COUNT]))
    person = come(Posting.objects.filter(study=study)[0], "A1WORKER", "one")
    for _ in range(2):
        sent = person.answer(how_many="3")
    page = person.client.get(sent.headers["Location"])
    assert page.status_code == 403
    assert "Please return this HIT." in page.content.decode()
    assert Assignment.objects.get().state == "returned"
    assert not PartPayment.objects.exists()


# --- Prolific ---

CODES: list[dict[str, str]] = [
    {"outcome": "screened_out", "action": "screen_out"},
    {"outcome": "not_understood", "action": "return", "reason": "Failed the comprehension check"},
]


def on_prolific(codes: list[dict[str, str]], **settings: Any) -> Posting:
    study = draft(live=False, slug="w", questionnaires=stored(**settings))
    if codes:
        chosen = {"codes": codes, "screen_out_reward": "0.20", "screen_out_places": "2"}
        change_study(study=study, platforms={"prolific": chosen}, actor="test")
    run("publish", "w", "--platform", "prolific")
    return Posting.objects.select_related("study").get()


@pytest.mark.django_db(transaction=True)
def test_prolific_pays_who_is_screened_out_by_its_own_code(server: Server) -> None:
    posting = on_prolific(CODES, **SCREENING, screen_out_reward="0.10")
    there = {row["code"]: row for row in server.studies[posting.external_id]["completion_codes"]}
    code = code_for(posting, "screened_out")
    assert [action["action"] for action in there[code]["actions"]] == ["FIXED_SCREEN_OUT_PAYMENT"]
    person = come(posting, ANN, server.start(posting.external_id, ANN))
    person.get()
    sent = person.answer(fluent="2")
    page = person.client.get(sent.headers["Location"]).content.decode()
    assert f"cc={code}" in page
    assert "You are paid $0.20 for your time." in page
    assert not PartPayment.objects.exists()  # Prolific pays: nothing is owed a second time
    server.complete(Assignment.objects.get().platform_assignment_id, code)


@pytest.mark.django_db(transaction=True)
def test_prolific_is_told_who_failed_the_check(server: Server) -> None:
    posting = on_prolific(CODES, comprehension=[COUNT])
    person = come(posting, ANN, server.start(posting.external_id, ANN))
    for _ in range(2):
        sent = person.answer(how_many="3")
    code = code_for(posting, "not_understood")
    assert f"cc={code}" in person.client.get(sent.headers["Location"]).content.decode()
    session = Assignment.objects.get().platform_assignment_id
    server.complete(session, code)
    assert server.submissions[session]["return_requested"]


@pytest.mark.django_db(transaction=True)
def test_prolific_is_told_who_failed_the_training(server: Server) -> None:
    study = draft(live=False, slug="w", questionnaires=stored(training_tries=1))
    payload = study.items.earliest("position").payload | {"check": Check("training", {"diversity": ["5"]}).stored()}
    Item.objects.create(study=study, external_id="t", role="training", position=99, payload=payload)
    codes = [{"outcome": "not_trained", "action": "return", "reason": "Failed the training"}]
    change_study(study=study, platforms={"prolific": {"codes": codes}}, actor="test")
    run("publish", "w", "--platform", "prolific")
    posting = Posting.objects.select_related("study").get()
    person = come(posting, ANN, server.start(posting.external_id, ANN))
    for answers in ({"own": "I would ask the neighbours."}, {"quality": "4"}, {"diversity": "1"}):
        sent = person.client.post(f"{person.url}training/", {"form": person.form(), **answers})
        assert sent.status_code == 303
    assert person.done_url in person.client.get(f"{person.url}training/").content.decode()
    code = code_for(posting, "not_trained")
    assert f"cc={code}" in person.client.get(person.done_url).content.decode()
    work = Assignment.objects.get()
    assert (work.state, work.hit.n_live) == ("returned", 0)
    server.complete(work.platform_assignment_id, code)
    assert server.submissions[work.platform_assignment_id]["return_requested"]


@pytest.mark.django_db(transaction=True)
def test_without_a_code_of_its_own_they_return_the_submission(server: Server) -> None:
    posting = on_prolific([], **SCREENING, screen_out_reward="0.10")
    person = come(posting, ANN, server.start(posting.external_id, ANN))
    person.get()
    sent = person.answer(fluent="2")
    page = person.client.get(sent.headers["Location"]).content.decode()
    assert "Please return your submission on Prolific." in page
    assert "You get $0.10 for your answers." in page
    assert PartPayment.objects.get().amount == Decimal("0.10")


@pytest.mark.django_db(transaction=True)
def test_after_on_prolific_comes_before_the_way_back(server: Server) -> None:
    posting = on_prolific([], after=[REMARK])
    person = come(posting, ANN, server.start(posting.external_id, ANN))
    finish_assignment(Assignment.objects.get())
    assert person.client.get(person.done_url).headers["Location"] == person.questions_url
    person.answer(at=person.questions_url, remark="Nothing.")
    assert f"cc={posting.code}" in person.client.get(person.done_url).content.decode()


# --- another panel ---


@pytest.mark.django_db(transaction=True)
def test_the_whole_way_on_a_panel() -> None:
    posting = on_panel(questionnaires=stored(before=[FLUENT], comprehension=[COUNT], after=[REMARK]))
    url = visit(posting, "id=4711&survey_code=s1").headers["Location"]
    person = Person(Participant.objects.get(), url)
    assert person.asks() == "before"
    person.answer(fluent="1")
    person.answer(how_many="3")
    person.answer(how_many="5")
    finish_assignment(Assignment.objects.get())
    assert Client().get(person.done_url).headers["Location"] == person.questions_url
    person.answer(at=person.questions_url, remark="The last one.")
    assert "webstudy_credit" in Client().get(person.done_url).content.decode()
    assert fields(Client().get(person.questions_url, follow=True)).text
    assert [reply.questionnaire for reply in QuestionnaireReply.objects.order_by("pk")] == [
        *("before", "comprehension", "comprehension", "after"),
    ]
