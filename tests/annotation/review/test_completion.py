"""Owners are told once that all ratings are in."""

from __future__ import annotations

from smtplib import SMTPException
from unittest.mock import patch

import pytest
from django.conf import LazySettings
from django.core import mail
from django.urls import reverse

from annotation.models import AuditEntry, Membership, Study
from annotation.studies.storing import change_study, close_study
from annotation.tasks import tell_of_complete_studies
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_assignment, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_server(settings: LazySettings) -> None:
    settings.EMAIL_HOST = "mail.example.org"


def owned(**values: object) -> Study:
    study = make_study(items=1, ratings_per_item=1, title="Replies", **values)  # type: ignore[arg-type]
    Membership.objects.create(study=study, user=make_user("ann", email="ann@example.org"), role="owner")
    Membership.objects.create(study=study, user=make_user("bob", email="bob@example.org"), role="owner")
    Membership.objects.create(study=study, user=make_user("eve", email="eve@example.org"), role="editor")
    Membership.objects.create(study=study, user=make_user("nil"), role="owner")
    return study


def test_the_owners_get_one_mail_when_all_ratings_are_in() -> None:
    study = owned()
    assert tell_of_complete_studies() == 0
    make_submission(study=study)
    assert [tell_of_complete_studies(), tell_of_complete_studies()] == [1, 0]
    [message] = mail.outbox
    assert message.subject == "All ratings are in: Replies"
    assert "1 submission." in message.body
    assert reverse("console_study", args=[study.slug]) in message.body
    assert (message.to, sorted(message.bcc)) == ([], ["ann@example.org", "bob@example.org"])
    entry = AuditEntry.objects.get(study=study, action="all ratings in")
    assert entry.detail == {"submissions": 1, "owners_mailed": 2}


def test_more_ratings_asked_for_later_give_no_second_mail() -> None:
    study = owned()
    make_submission(study=study)
    tell_of_complete_studies()
    change_study(study=study, values={"ratings_per_item": 2}, actor="test")
    make_submission(study=study)
    assert tell_of_complete_studies() == 0
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("error", [SMTPException("no"), OSError("no route")])
def test_a_mail_that_cannot_be_sent_is_tried_again(error: Exception) -> None:
    study = owned()
    make_submission(study=study)
    with patch("annotation.review.owner_mail.EmailMessage.send", side_effect=error):
        assert tell_of_complete_studies() == 0
    assert not AuditEntry.objects.filter(study=study, action="all ratings in").exists()
    assert tell_of_complete_studies() == 1
    assert len(mail.outbox) == 1


def test_without_a_mail_server_the_mail_is_only_logged(settings: LazySettings) -> None:
    settings.EMAIL_HOST = ""
    study = owned()
    make_submission(study=study)
    assert tell_of_complete_studies() == 1
    assert mail.outbox == []
    study.refresh_from_db()
    assert study.complete_at is not None


def test_studies_without_hits_with_work_left_or_closed_are_not_complete() -> None:
    make_study(items=0)
    make_assignment(study=owned())
    closed = make_study(items=1, ratings_per_item=1)
    make_submission(study=closed)
    close_study(study=closed, actor="test")
    assert tell_of_complete_studies() == 0


def test_the_overview_says_that_all_ratings_are_in() -> None:
    study = make_study(items=1, ratings_per_item=1)
    client = as_role("owner", study)
    url = reverse("console_study", args=[study.slug])
    assert "All ratings are in" not in client.get(url).content.decode()
    make_submission(study=study)
    assert (
        "All ratings are in: no more work is given out. You can close the study now."
        in client.get(url).content.decode()
    )
    close_study(study=study, actor="test")
    assert "All ratings are in.</p>" in client.get(url).content.decode()
