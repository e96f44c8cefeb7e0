"""Workers who stop in the middle of a hit: how much they get, that they get it once, and what happens to the place."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, AuditEntry, PartPayment, Payment, Study
from annotation.review.paying import mark_paid
from annotation.review.payment_lists import totals
from annotation.review.payments_due import due, payable, payment_rows
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.part_pay import part_of_reward, stop_for_part_pay, unpaid_parts
from common.problems import Invalid
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.recruiting.helpers import finish_assignment
from tests.annotation.recruiting.test_panel import on_panel, visit
from tests.factories import create_study, make_assignment, make_participant, make_study

D = Decimal
#: rule, fixed amount, reward, steps done, steps in all, what the worker gets: by hand.
AMOUNTS = [
    ("none", None, "1.00", 2, 3, None),
    ("steps", None, "1.00", 0, 3, None),
    ("steps", None, "1.00", 1, 3, "0.34"),  # 0.333… rounded up
    ("steps", None, "1.00", 2, 3, "0.67"),
    ("steps", None, "0.90", 1, 3, "0.30"),  # nothing to round
    ("steps", None, "0.056", 1, 3, "0.02"),  # 0.0186…
    ("steps", None, "0", 2, 3, None),
    ("steps", None, "1.00", 2, None, None),  # the number of steps depends on the answers
    ("fixed", "0.25", "1.00", 0, 3, None),
    ("fixed", "0.25", "1.00", 1, 3, "0.25"),
    ("fixed", "0.25", "1.00", 2, None, "0.25"),
]


@pytest.mark.parametrize(("rule", "fixed", "reward", "done", "in_all", "expected"), AMOUNTS)
def test_the_amount(rule: str, fixed: str | None, reward: str, done: int, in_all: int | None, expected: Any) -> None:
    amount = part_of_reward(rule=rule, fixed=D(fixed) if fixed else None, reward=D(reward), done=done, in_all=in_all)
    assert amount == (None if expected is None else D(expected))


def paying_study(**values: Any) -> Study:
    """absHDS with three steps and $0.90: each step is worth $0.30."""
    defaults: dict[str, Any] = {"items": 2, "reward": D("0.90"), "part_pay": "steps", "ratings_per_item": 1}
    return make_study(**defaults | values)


def begun(study: Study) -> WorkerBrowser:
    """Somebody who has sent the first of three steps."""
    browser = WorkerBrowser(make_participant(study=study))
    browser.send(own="I would ask the neighbours.")
    return browser


def stop(browser: WorkerBrowser, form: str = "") -> Any:
    return browser.client.post(reverse("work_stop", args=[browser.token]), {"form": form or browser.form()})


def page(browser: WorkerBrowser) -> str:
    return browser.get().content.decode()


@pytest.mark.django_db
def test_a_worker_stops_and_sees_what_they_get_and_their_code() -> None:
    study = paying_study()
    browser = begun(study)
    assert "Stop here and get $0.30" in page(browser)

    response = stop(browser)

    assert (response.status_code, response["Location"]) == (303, f"{browser.done_url}?stopped")
    done = browser.client.get(response["Location"]).content.decode()
    work = Assignment.objects.select_related("participant").get()
    assert "You get $0.30 for what you did before you stopped." in done
    assert work.participant.completion_code in done
    assert work.state == "stopped"
    owed = PartPayment.objects.get()
    assert (owed.amount, owed.steps_done, owed.steps_in_all) == (D("0.30"), 1, 3)
    assert AuditEntry.objects.get(action="stop for part pay").detail["amount"] == "0.30"


@pytest.mark.django_db
@pytest.mark.parametrize(("values", "sent"), [({"part_pay": "none"}, 1), ({}, 0)], ids=["not allowed", "no step sent"])
def test_there_is_no_button_without_part_pay_or_before_the_first_step(values: dict[str, Any], sent: int) -> None:
    study = paying_study(**values)
    browser = begun(study) if sent else WorkerBrowser(make_participant(study=study))
    assert "Stop here" not in page(browser)
    assert stop(browser).headers["Location"] == browser.url
    assert (Assignment.objects.get().state, PartPayment.objects.count()) == ("accepted", 0)


@pytest.mark.django_db
def test_the_place_is_free_and_the_worker_never_gets_that_hit_again() -> None:
    study = paying_study(items=1, hits_per_worker=None)
    browser = begun(study)
    stop(browser)
    hit = study.hits.get()
    assert (hit.n_live, hit.n_submitted) == (0, 0)
    with pytest.raises(NothingLeft):
        accept_next(participant_id=Assignment.objects.get().participant_id)
    assert make_assignment(study=study).hit_id == hit.pk


@pytest.mark.django_db
def test_a_stopped_hit_counts_towards_the_limit() -> None:
    browser = begun(paying_study(hits_per_worker=1))
    stop(browser)
    with pytest.raises(NothingLeft, match="limit"):
        accept_next(participant_id=Assignment.objects.get().participant_id)
    assert (
        "You have done all the tasks that one person can do here."
        in browser.client.get(browser.done_url).content.decode()
    )


@pytest.mark.django_db
def test_stopping_again_changes_nothing() -> None:
    browser = begun(paying_study())
    form = browser.form()
    assert [stop(browser, form)["Location"] for _ in range(2)] == [f"{browser.done_url}?stopped"] * 2
    assert PartPayment.objects.count() == 1


@pytest.mark.django_db
def test_nobody_stops_the_hit_of_somebody_else() -> None:
    study = paying_study()
    mine, other = begun(study), begun(study)
    assert stop(mine, other.form()).status_code == 404
    assert not PartPayment.objects.exists()


@pytest.mark.django_db
def test_a_step_sent_after_stopping_is_not_stored() -> None:
    browser = begun(paying_study())
    form = browser.form()
    stop(browser, form)
    assert browser.post(form, quality="4").status_code == 409
    assert Assignment.objects.get().steps.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_are_owed_once() -> None:
    browser = begun(paying_study())
    work = Assignment.objects.get()

    def press(_: int) -> Any:
        try:
            return stop_for_part_pay(assignment_id=work.pk, participant_id=work.participant_id)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as tabs:
        found = list(tabs.map(press, range(4)))

    assert {each.pk for each in found} == {PartPayment.objects.get().pk}
    assert work.hit.assignments.count() == 1
    assert Study.objects.get().hits.get(pk=work.hit_id).n_live == 0
    assert "You get $0.30" in browser.client.get(browser.done_url).content.decode()


@pytest.mark.django_db
def test_it_is_listed_paid_once_and_shown_as_paid() -> None:
    study = paying_study()
    stop(begun(study))
    owed = due(study)
    assert (owed.hits, owed.workers, owed.total) == (1, 1, D("0.30"))
    (row,) = payment_rows(study, list(payable(study)))
    assert (row.hits_done, row.hits_due, row.due, row.state) == (0, 1, D("0.30"), "to_pay")

    mark_paid(study=study, actor="ann", code=row.code)

    payment = Payment.objects.get()
    assert (payment.kind, payment.amount, payment.part, payment.submission) == (
        "partial",
        D("0.30"),
        PartPayment.objects.get(),
        None,
    )
    (row,) = payment_rows(study, list(payable(study)))
    assert (row.hits_due, row.due, row.paid) == (0, D(0), D("0.30"))
    assert (due(study).hits, unpaid_parts(study).count(), totals(study)["unmatched"]) == (0, 0, 0)
    with pytest.raises(Invalid):
        mark_paid(study=study, actor="ann")


@pytest.mark.django_db
def test_the_database_refuses_a_second_payment_and_any_change_of_what_is_owed() -> None:
    study = paying_study()
    stop(begun(study))
    mark_paid(study=study, actor="ann")
    first = Payment.objects.get()
    again = {name: getattr(first, name) for name in ("study", "kind", "part", "amount", "platform", "created_at")}
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.create(**again, key="part/other", actor="eve")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        PartPayment.objects.update(amount=5)


@pytest.mark.django_db
def test_the_start_page_promises_it() -> None:
    study = paying_study(part_pay="fixed", part_pay_amount=D("0.25"))
    text = WorkerBrowser(make_participant(study=study)).client.get(f"/s/{study.slug}/").content.decode()
    assert "you get $0.25 for it" in text


WRONG = {
    "a fixed amount is missing": {"part_pay": "fixed"},
    "an amount that nothing uses": {"part_pay": "steps", "part_pay_amount": "0.10"},
    "more than the reward": {"part_pay": "fixed", "part_pay_amount": "2.00"},
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", WRONG)
def test_a_study_with_impossible_part_pay_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        create_study(slug="s", task_type="abs_hds", values={"title": "T", "reward": "1.00"} | WRONG[name], config={},
                     texts={}, actor="ann", owner=None)  # fmt: skip
    assert [problem.where for problem in refused.value.problems] == ["part_pay_amount"]


@pytest.mark.django_db
def test_the_button_works_without_javascript_or_cookies() -> None:
    browser = begun(paying_study())
    assert 'action="/w/' in page(browser)
    assert fields(browser.get()).values["form"]
    response = stop(browser)
    assert not response.cookies


@pytest.mark.django_db
def test_work_from_a_platform_is_stopped_too_and_its_worker_reads_what_to_do_there() -> None:
    posting = on_panel(part_pay="steps", reward=D("0.90"))
    url = visit(posting, "id=p1&survey_code=s1")["Location"]
    finish_assignment(Assignment.objects.get(), pages=1)
    client = Client()
    page = client.get(url)
    assert "Stop here and get $0.30" in page.content.decode()
    assert "Give this task back" not in page.content.decode()

    client.post(f"{url}stop", {"form": fields(page).values["form"]})

    told = client.get(f"{url}done").content.decode()
    assert "You have stopped this" in told
    assert "You are owed $0.30" in told
    assert Assignment.objects.select_related("participant").get().participant.completion_code in told
    # The same arrival finds the stopped work, and no second one begins.
    assert visit(posting, "id=p1&survey_code=s1")["Location"] == url
    assert Assignment.objects.count() == 1
    assert due(posting.study).total == D("0.30")
