"""Studies on this server's own marketplace, and workers on both sides of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.models import Assignment, Posting, Study
from annotation.platforms.base import Claim, Platform
from annotation.recruiting import publishing
from annotation.recruiting.arrivals import accept_hit
from annotation.work.answers import submit_step
from marketplace.models import Hit as MarketHit
from marketplace.models import Worker as MarketWorker
from marketplace.services.hits import assignments as market
from tests.factories import make_study, simulated_form
from tests.marketplace.support.factories import make_worker as make_market_worker


def posted_study(platform: Platform, **values: Any) -> Study:
    defaults: dict[str, Any] = {"items": 2, "ratings_per_item": 2, "reward": "0.18", "hits_per_worker": None}
    made = make_study(**defaults | values)
    publishing.plan_postings(study=made, platform=platform, actor="test")
    publishing.post_all(study=made, platform=platform)
    return made


def send_here(posting: Posting, worker_id: str, assignment_id: str) -> Assignment:
    return send_claim(posting, worker_id, assignment_id)


def send_claim(posting: Posting, worker_id: str, assignment_id: str, *, pages: int = 100) -> Assignment:
    """Work on the posting up to the page with number ``pages``."""
    claim = Claim(posting.platform, worker_id, assignment_id)
    expires_at = timezone.now() + timedelta(hours=1)
    made = accept_hit(posting=posting, claim=claim, expires_at=expires_at, consented=False)
    return finish_assignment(made, pages=pages)


def finish_assignment(made: Assignment, *, pages: int = 100) -> Assignment:
    """Answer the pages as a simulated worker would."""
    made = Assignment.objects.select_related("hit__study", "participant").get(pk=made.pk)
    number = 0
    while made.state == "accepted" and number < pages:
        form = simulated_form(assignment=made, number=number)
        submit_step(assignment_id=made.pk, participant_id=made.participant_id, number=number, data=form, timing={})
        made.refresh_from_db()
        number += 1
    return made


def accept_there(posting: Posting, worker: MarketWorker) -> Any:
    return market.accept(hit=MarketHit.objects.get(hit_id=posting.external_id), worker=worker)


def send_there(accepted: Any) -> None:
    market.submit(assignment_id=accepted.assignment_id, answers={"saved": ["here"]})


def send_both(posting: Posting) -> Assignment:
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    sent = send_here(posting, worker.worker_id, accepted.assignment_id)
    send_there(accepted)
    return sent
