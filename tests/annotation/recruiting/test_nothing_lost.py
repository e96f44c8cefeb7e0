"""Nobody on a platform loses work or pay because this server guessed wrong, somebody lied, or somebody else decided."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Hit, Payment, Posting, Study
from annotation.platforms.base import Claim
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import deciding_on_platform, syncing
from annotation.recruiting.arrivals import accept_hit
from annotation.results.frames import study_data
from annotation.work import confirmation
from annotation.work.answers import submit_step
from marketplace import clock
from marketplace.services.hits import due_changes
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here, send_there
from tests.factories import make_worker, simulated_form
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, config={"write_first": False, "rate_first": False})


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.get(part=0, hit__position=0)


def arrive(posting: Posting, worker_id: str, assignment_id: str) -> Assignment:
    claim = Claim("mturk", worker_id, assignment_id)
    return accept_hit(posting=posting, claim=claim, expires_at=timezone.now() + HOUR, consented=False)


def send_last_step(work: Assignment) -> str:
    work = Assignment.objects.select_related("hit__study", "participant").get(pk=work.pk)
    form = simulated_form(assignment=work, number=0)
    return submit_step(assignment_id=work.pk, participant_id=work.participant_id, number=0, data=form, timing={}).kind


def test_made_up_claims_do_not_cost_a_worker_their_work(study: Study, posting: Posting, api: Mturk) -> None:
    """The hit wants two. Somebody who knows its address comes as two other workers while the honest one works."""
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    honest = arrive(posting, worker.worker_id, accepted.assignment_id)
    for number in range(2):
        send_here(posting, f"W-FORGED-{number}", f"A-FORGED-{number}")
    honest.refresh_from_db()
    assert honest.state == "abandoned"  # the guess
    assert send_last_step(honest) == "submitted"
    send_there(accepted)
    syncing.sync_study(study=study, platform=api)
    assert [each.platform_id for each in study_workers(study)] == [worker.worker_id]
    assert len(deciding_on_platform.to_approve(study)) == 1
    hit = Hit.objects.get(postings=posting)
    assert (hit.n_live, hit.wanted) == (3, 3)


def study_workers(study: Study) -> list[Any]:
    used = set(study_data(study).ratings["worker"])
    return [each.worker for each in study.participants.select_related("worker") if each.pseudonym in used]


def test_a_worker_whose_place_was_given_away_gets_one_from_somebody_who_left(posting: Posting) -> None:
    first, second = arrive(posting, "W1", "A1"), arrive(posting, "W2", "A2")
    arrive(posting, "W3", "A3")  # W2 returned it there; here, W1's place was given away
    assert send_last_step(first) == "submitted"
    second.refresh_from_db()
    hit = Hit.objects.get(postings=posting)
    assert (second.state, hit.n_live, hit.wanted) == ("abandoned", 2, 2)


def test_the_place_is_taken_back_while_the_worker_has_other_hits_open(study: Study, posting: Posting) -> None:
    first = arrive(posting, "W1", "A1")
    arrive(study.postings.get(part=0, hit__position=1), "W1", "A9")
    arrive(posting, "W2", "A2")
    arrive(posting, "W3", "A3")
    assert send_last_step(first) == "submitted"


def test_a_returned_hit_cannot_be_sent_any_more(posting: Posting) -> None:
    first = arrive(posting, "W1", "A1")
    arrive(posting, "W1", "A2")
    assert send_last_step(first) == "ended"


def test_work_that_the_platform_approves_by_itself_is_recorded_as_paid(
    study: Study, posting: Posting, api: Mturk, settings: Any
) -> None:
    settings.MARKETPLACE_TEST_CONTROLS = True
    sent = send_both(posting)
    syncing.sync_study(study=study, platform=api)
    clock.set_offset(timedelta(hours=73))  # it approves after 72 hours
    due_changes.bring_up_to_date(now=clock.now())
    assert syncing.sync_study(study=study, platform=api).paid == 1
    assert syncing.sync_study(study=study, platform=api).paid == 0
    paid = Payment.objects.get()
    assert (paid.platform_id, str(paid.amount)) == (sent.platform_assignment_id, "0.180")
    assert AuditEntry.objects.filter(action="paid on the platform").count() == 1
    assert not confirmation.unconfirmed_submissions(study).exists()


def test_what_the_platform_paid_for_work_that_never_arrived_is_recorded_with_the_workers_id(
    study: Study, posting: Posting, api: Mturk
) -> None:
    there = accept_there(posting, make_market_worker())
    send_there(there)
    syncing.sync_study(study=study, platform=api)
    assert not Payment.objects.exists()
    api.call("approve_assignment", AssignmentId=there.assignment_id)  # nothing arrived here for it
    assert syncing.sync_study(study=study, platform=api).paid == 1
    paid = Payment.objects.get()
    assert (paid.submission, paid.platform_id) == (None, there.assignment_id)
    assert paid.worker_id == there.worker.worker_id


def test_workers_may_come_before_publishing_has_stored_the_name_of_the_hit(posting: Posting) -> None:
    name = posting.external_id
    Posting.objects.filter(pk=posting.pk).update(state="planned", external_id="")
    given = {"assignmentId": "A1", "hitId": name, "workerId": "W1", "turkSubmitTo": "http://testserver"}
    address = f"/{posting.url.partition('//')[2].partition('/')[2]}?{urlencode(given)}"
    assert b"Start" in Client().get(address).content
    assert Client().post(address, {}).status_code == 303
    Posting.objects.filter(pk=posting.pk).update(state="open", external_id="ANOTHER")
    assert Client().get(address).status_code == 400


def test_a_simulated_worker_of_a_platform_is_a_simulated_participant(posting: Posting) -> None:
    make_worker(platform="mturk", name="W1", synthetic=True)
    assert arrive(posting, "W1", "A1").participant.synthetic
    assert not arrive(posting, "W2", "A2").participant.synthetic
