"""A study whose hits are each offered as a separate HIT, and one worker who accepts several of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connections
from django.utils import timezone

from annotation.models import Assignment, Posting
from annotation.platforms.base import Claim
from annotation.recruiting.arrivals import accept_hit
from annotation.tokens import posting_token
from annotation.work.allocation import NotAdmitted
from annotation.work.answers import submit_step
from tests.factories import make_study, simulated_form

WHO = "AWORKER1"
SHORT = {"write_first": False, "rate_first": False}


def offered(**values: Any) -> list[Posting]:
    """The postings of a study of three hits, as the platform offers them."""
    defaults: dict[str, Any] = {"items": 3, "ratings_per_item": 2, "hits_per_worker": 1, "config": SHORT}
    study = make_study(**defaults | values)
    return [
        Posting.objects.create(
            study=study, hit=hit, platform="mturk", wanted=hit.wanted, state="open", external_id=f"H{study.pk}-{hit.pk}"
        )
        for hit in study.hits.order_by("position")
    ]


def arrive(posting: Posting, assignment: str, worker: str = WHO) -> Assignment:
    claim = Claim("mturk", worker, assignment)
    soon = timezone.now() + timedelta(hours=1)
    return accept_hit(posting=posting, claim=claim, expires_at=soon, consented=False)


def refusal(posting: Posting, assignment: str) -> str:
    with pytest.raises(NotAdmitted) as refused:
        arrive(posting, assignment)
    return refused.value.reason


def address(posting: Posting, assignment: str, worker: str = WHO) -> str:
    query = {"assignmentId": assignment, "workerId": worker, "hitId": posting.external_id}
    return f"/p/{posting_token(posting.pk)}/?{urlencode(query)}"


def arrive_at_once(one: Posting, two: Posting) -> list[str]:
    """One worker accepts both at the same moment. Returns the state of each, or why it was refused, sorted."""
    gate = threading.Barrier(2)

    def come(posting: Posting, assignment: str) -> str:
        gate.wait()
        try:
            return arrive(posting, assignment).state
        except NotAdmitted as refused:
            return refused.reason
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        return sorted(pool.map(come, (one, two), ("A1", "A2")))


def send_last_step(work: Assignment) -> str:
    work = Assignment.objects.select_related("hit__study", "participant").get(pk=work.pk)
    form = simulated_form(assignment=work, number=0)
    return submit_step(assignment_id=work.pk, participant_id=work.participant_id, number=0, data=form, timing={}).kind
