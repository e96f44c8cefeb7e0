"""Asking a participant on Prolific to return their work, from the console: what it shows, does and records."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, BulkAction, Posting, Submission
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.platform import Prolific
from annotation.recruiting import publishing, syncing
from annotation.review.tasks import run_bulk
from annotation.work.left_out import left_out_submissions
from tests.annotation.console_helpers import as_role
from tests.annotation.recruiting.helpers import send_claim
from tests.annotation.recruiting.prolific_server import TOKEN, prolific_server
from tests.annotation.recruiting.prolific_server import Prolific as Server
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db(transaction=True)
WHO, OTHER = "a" * 24, "b" * 24
BUTTON = "Ask for a return …"
assert run_bulk  # registers the task: it runs where it is sent


@pytest.fixture
def server(settings: Any) -> Iterator[Server]:
    with prolific_server() as state:
        settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = state.address, TOKEN
        yield state


@pytest.fixture
def prolific(server: Server) -> Prolific:
    return Prolific(Api(Account(server.address, TOKEN), sleep=lambda seconds: None))


@pytest.fixture
def posting(prolific: Prolific) -> Posting:
    study = make_study(items=3, ratings_per_item=2, reward=Decimal("1.25"), estimated_minutes=5, slug="weather")
    publishing.plan_postings(study=study, platform=prolific, actor="test")
    publishing.post_all(study=study, platform=prolific)
    return Posting.objects.select_related("study").get()


def sent_by(posting: Posting, server: Server, prolific: Prolific, who: str) -> Submission:
    session = server.submit(posting.external_id, who)
    work = send_claim(posting, who, session)
    syncing.sync_study(study=posting.study, platform=prolific)
    return Submission.objects.get(assignment=work)


def choose(client: Client, *sent: Submission) -> str:
    """The address of the page that shows what would change."""
    chosen = {"action": "ask_back", "ticked": [each.pk for each in sent]}
    answer = client.post(reverse("console_choose", args=["weather"]), chosen)
    assert answer.status_code == 302
    return str(answer["Location"])


def page(client: Client, sent: Submission) -> str:
    return client.get(reverse("console_submission", args=[sent.study.slug, sent.pk])).content.decode()


def test_a_click_shows_what_it_does_a_second_one_asks(posting: Posting, server: Server, prolific: Prolific) -> None:
    sent = sent_by(posting, server, prolific, WHO)
    owner = as_role("owner", posting.study)
    assert BUTTON in page(owner, sent)
    where = choose(owner, sent)
    shown = owner.get(where).content.decode()
    assert "The workers of 1 submission get a message on the platform, with your reason." in shown
    assert "Ask for 1 submission back" in shown
    assert server.messages == []
    assert owner.post(where, {"note": " "}).status_code == 422
    assert server.messages == []
    done = owner.post(where, {"note": "Withdrew consent"}, follow=True).content.decode()
    assert "1 of 1 done" in done
    assert server.messages == [(WHO, "Withdrew consent")]
    after = page(owner, sent)
    assert "The worker was asked to return it" in after
    assert BUTTON not in after
    asked = AuditEntry.objects.get(action="ask for return")
    assert asked.detail["reason"] == "Withdrew consent"
    assert AuditEntry.objects.filter(action="bulk ask_back").exists()


def test_nobody_is_asked_twice(posting: Posting, server: Server, prolific: Prolific) -> None:
    first, second = (sent_by(posting, server, prolific, who) for who in (WHO, OTHER))
    owner = as_role("owner", posting.study)
    where = choose(owner, first)
    for _ in range(2):
        owner.post(where, {"note": "Withdrew consent"})
    again = choose(owner, first, second)
    shown = owner.get(again).content.decode()
    assert "The workers of 1 submission get a message" in shown
    assert "1 submission is left out: asked for before." in shown
    owner.post(again, {"note": "Withdrew consent"})
    assert server.messages == [(WHO, "Withdrew consent"), (OTHER, "Withdrew consent")]


def test_returned_work_is_left_out_of_the_report(posting: Posting, server: Server, prolific: Prolific) -> None:
    sent = sent_by(posting, server, prolific, WHO)
    owner = as_role("owner", posting.study)
    owner.post(choose(owner, sent), {"note": "Withdrew consent"})
    assert sent.pk not in set(left_out_submissions(posting.study).values_list("pk", flat=True))
    server.submissions[sent.assignment.platform_assignment_id]["status"] = "RETURNED"
    syncing.sync_study(study=posting.study, platform=prolific)
    assert sent.pk in set(left_out_submissions(posting.study).values_list("pk", flat=True))


def test_approved_work_is_not_asked_for(posting: Posting, server: Server, prolific: Prolific) -> None:
    sent = sent_by(posting, server, prolific, WHO)
    server.submissions[sent.assignment.platform_assignment_id]["status"] = "APPROVED"
    syncing.sync_study(study=posting.study, platform=prolific)
    owner = as_role("owner", posting.study)
    assert BUTTON not in page(owner, sent)
    assert "none of the chosen submissions can be changed" in owner.get(choose(owner, sent)).content.decode()


def test_a_lost_answer_is_tried_again_and_asks_once(posting: Posting, server: Server, prolific: Prolific) -> None:
    sent = sent_by(posting, server, prolific, WHO)
    owner = as_role("owner", posting.study)
    where = choose(owner, sent)
    server.lose = r"POST submissions/\w+/request-return/"
    stopped = owner.post(where, {"note": "Withdrew consent"}, follow=True).content.decode()
    assert "did not answer" in stopped
    action = BulkAction.objects.get()
    owner.post(reverse("console_continue_action", args=["weather", action.pk]))
    action.refresh_from_db()
    assert (action.state, action.refused) == ("done", [])
    assert server.messages == [(WHO, "Withdrew consent")]


def test_only_owners_ask_and_only_where_the_platform_can(posting: Posting, server: Server, prolific: Prolific) -> None:
    sent = sent_by(posting, server, prolific, WHO)
    editor, owner = as_role("editor", posting.study), as_role("owner", posting.study)
    assert BUTTON not in page(editor, sent)
    listed = reverse("console_submissions", args=["weather"])
    assert BUTTON not in editor.get(listed).content.decode()
    assert BUTTON in owner.get(listed).content.decode()
    refused = editor.post(reverse("console_choose", args=["weather"]), {"action": "ask_back", "ticked": [sent.pk]})
    assert refused.status_code == 404
    by_link = make_submission(study=make_study(slug="link", items=1, reward="0.18"))
    owner = as_role("owner", by_link.study)
    assert BUTTON not in page(owner, by_link)
    assert BUTTON not in owner.get(reverse("console_submissions", args=["link"])).content.decode()
    assert server.messages == []
