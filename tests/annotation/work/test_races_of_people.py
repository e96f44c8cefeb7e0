"""People who press buttons at the same moment: coders who start, and workers who stop and send at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import connections
from django.db.models import Count, Q

from annotation.models import Assignment, Participant, PartPayment, Rating, Submission
from annotation.review.payments_due import due
from annotation.work.allocation import accept_next
from annotation.work.answers import submit_step
from annotation.work.coded_items import coders_of
from annotation.work.member_work import start_member_work
from annotation.work.part_pay import stop_for_part_pay
from common.problems import Invalid
from tests.annotation.coding_helpers import coder, coding_study
from tests.annotation.recruiting.helpers import finish_assignment
from tests.factories import make_assignment, make_study, simulated_form

WORKERS = 20


def together(acts: list[Callable[[], str]]) -> list[str]:
    """What the acts return, in their order, each in a thread that sets out at the same moment."""
    gate, found = threading.Barrier(len(acts)), [""] * len(acts)

    def run(place: int) -> None:
        try:
            gate.wait(30)
            found[place] = acts[place]()
        except Exception as error:
            found[place] = f"{type(error).__name__}: {error}"
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


@pytest.mark.django_db(transaction=True)
def test_six_members_start_at_once_twice_and_two_of_them_code() -> None:
    study = coding_study(items=3)
    users = [coder(f"member-{number}", study) for number in range(6)]

    def start(number: int) -> Callable[[], str]:
        def act() -> str:
            try:
                return str(start_member_work(study=study, user=users[number % 6]).pk)
            except Invalid:
                return "refused"

        return act

    found = together([start(number) for number in range(12)])
    told = Counter(found)
    coders = coders_of(study)
    assert len(coders) == 2
    # Both tabs of a coder lead to the same participation.
    assert told == Counter({"refused": 8, **{str(each.participant_id): 2 for each in coders}})
    assert Participant.objects.filter(study=study).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_coders_who_open_their_pages_at_once_get_one_task_each() -> None:
    study = coding_study(items=3)
    people = [start_member_work(study=study, user=coder(name, study)) for name in ("anna", "ben")]

    def accept(participant: int) -> Callable[[], str]:
        return lambda: str(accept_next(participant_id=participant).id)

    found = together([accept(people[number % 2].pk) for number in range(8)])
    open_now = dict(Assignment.objects.values_list("participant", "pk"))
    assert Assignment.objects.count() == 2
    assert found == [str(open_now[people[number % 2].pk]) for number in range(8)]


@pytest.mark.django_db(transaction=True)
def test_twenty_workers_stop_and_send_their_last_page_at_once_and_each_is_paid_for_one_of_both() -> None:
    """absHDS with three pages and $0.90: two pages are worth $0.60. Each worker does both in two tabs."""
    study = make_study(items=5, ratings_per_item=WORKERS, reward=Decimal("0.90"), part_pay="steps")
    works = [finish_assignment(make_assignment(study=study), pages=2) for _ in range(WORKERS)]
    assert {work.state for work in works} == {"accepted"}

    def stop(work: Assignment) -> Callable[[], str]:
        def act() -> str:
            owed = stop_for_part_pay(assignment_id=work.pk, participant_id=work.participant_id)
            return "nothing" if owed is None else f"stopped {owed.amount}"

        return act

    def send(work: Assignment) -> Callable[[], str]:
        form = simulated_form(assignment=work, number=2)
        about = {"assignment_id": work.pk, "participant_id": work.participant_id, "number": 2}
        return lambda: submit_step(**about, data=form, timing={}).kind

    acts = [make(work) for work in works for make in (stop, send)]
    found = together(acts)
    pairs = Counter(zip(found[::2], found[1::2], strict=True))
    assert set(pairs) <= {("stopped 0.60", "ended"), ("nothing", "submitted")}, pairs
    n_stopped, n_sent = PartPayment.objects.count(), Submission.objects.count()
    assert (n_stopped, n_sent) == (pairs["stopped 0.60", "ended"], pairs["nothing", "submitted"])
    assert n_stopped + n_sent == WORKERS
    assert not PartPayment.objects.filter(assignment__submission__isnull=False).exists()
    assert not Rating.objects.filter(submission__assignment__state="stopped").exists()
    live = Count("assignments", filter=Q(assignments__state="submitted"))
    assert all((hit.n_live, hit.n_submitted) == (hit.n, hit.n) for hit in study.hits.annotate(n=live))
    assert due(study).total == n_stopped * Decimal("0.60") + n_sent * Decimal("0.90")
