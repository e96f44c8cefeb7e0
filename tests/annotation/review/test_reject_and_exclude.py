"""At a rejection, the person is asked whether the analysis leaves the work out, too."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import BulkAction, Review, Study, Submission
from annotation.review.decision_file_export import batch_csv
from annotation.review.decision_files import read_decisions
from annotation.table_files import TableProblems, read_table
from annotation.work.excluding import review_submission
from tests.factories import make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return make_researcher("ann")


@pytest.fixture
def sent(owner: User) -> Submission:
    return make_submission(study=make_study(reward=Decimal("0.50"), owner=owner))


@pytest.fixture
def client(owner: User) -> Client:
    made = Client()
    made.force_login(owner)
    return made


def decisions(sent: Submission) -> list[tuple[str, str]]:
    return list(Review.objects.filter(submission=sent).values_list("decision", "note"))


def test_the_page_of_a_submission_asks_and_does_both(client: Client, sent: Submission) -> None:
    page = client.get(reverse("console_submission", args=[sent.study.slug, sent.pk])).content.decode()
    assert "If you reject it, leave it out of the analysis, too" in page
    address = reverse("console_decide", args=[sent.study.slug, sent.pk])
    answer = client.post(address, {"decision": "reject", "feedback": "All the same.", "exclude": "on"}, follow=True)
    assert "Rejected. The analysis leaves it out." in answer.content.decode()
    assert decisions(sent) == [("exclude", "Rejected: All the same.")]


def test_without_the_tick_it_stays_in_the_analysis_and_the_page_says_so(client: Client, sent: Submission) -> None:
    address = reverse("console_decide", args=[sent.study.slug, sent.pk])
    answer = client.post(address, {"decision": "reject", "feedback": "All the same."}, follow=True)
    assert "Rejected. It stays in the analysis." in answer.content.decode()
    assert decisions(sent) == []


def test_approving_after_all_includes_the_work_again(client: Client, sent: Submission) -> None:
    address = reverse("console_decide", args=[sent.study.slug, sent.pk])
    client.post(address, {"decision": "reject", "feedback": "All the same.", "exclude": "on"})
    client.post(address, {"decision": "approve", "feedback": ""})
    newest, first = decisions(sent)
    assert (first, newest) == (("exclude", "Rejected: All the same."), ("include", "Rejection undone."))


def test_a_later_exclusion_by_a_person_stays(client: Client, owner: User, sent: Submission) -> None:
    address = reverse("console_decide", args=[sent.study.slug, sent.pk])
    client.post(address, {"decision": "reject", "feedback": "All the same.", "exclude": "on"})
    review_submission(submission=sent, decision="exclude", note="Not a person.", user=owner)
    client.post(address, {"decision": "approve", "feedback": ""})
    assert [decision for decision, _ in decisions(sent)] == ["exclude", "exclude"]


def test_a_bulk_rejection_asks_and_does_both(client: Client, sent: Submission) -> None:
    choose = reverse("console_choose", args=[sent.study.slug])
    shown = client.post(choose, {"action": "reject", "ticked": str(sent.pk)}, follow=True).content.decode()
    assert "Leave the rejected work out of the analysis, too" in shown
    bulk = BulkAction.objects.get()
    address = reverse("console_action", args=[sent.study.slug, bulk.pk])
    client.post(address, {"note": "All the same.", "exclude": "on"})
    bulk.refresh_from_db()
    assert bulk.exclude


def rows(study: Study, **cells: str) -> bytes:
    """The downloaded results with these cells written into the first row."""
    table = read_table(_file(b"".join(batch_csv(study))), name="batch.csv", limit=None)
    row = {**table.rows[0].cells, **cells}
    quoted = [",".join(f'"{cell}"' for cell in line) for line in (row.keys(), row.values())]
    return "\n".join(quoted).encode()


def _file(content: bytes) -> BytesIO:
    return BytesIO(content)


def test_a_results_file_may_have_a_column_that_excludes(sent: Submission) -> None:
    content = rows(sent.study, Reject="All the same.", Exclude="x")
    [decision] = read_decisions(study=sent.study, table=read_table(_file(content), name="b.csv", limit=None))
    assert (decision["decision"], decision["exclude"]) == ("reject", True)
    wrong = rows(sent.study, Approve="x", Exclude="x")
    with pytest.raises(TableProblems):
        read_decisions(study=sent.study, table=read_table(_file(wrong), name="b.csv", limit=None))


def test_the_command_says_what_stays_and_excludes_on_request(sent: Submission, tmp_path: Path) -> None:
    out = StringIO()
    common = ["study", "reject", sent.study.slug, "--submission", str(sent.pk), "--reason", "All the same."]
    call_command(*common, "--dry-run", stdout=out)
    assert "The rejected work stays in the analysis. To leave it out, add --exclude." in out.getvalue()
    call_command(*common, "--exclude", stdout=out)
    assert "The analysis leaves the rejected work out." in out.getvalue()
    assert decisions(sent) == [("exclude", "Rejected: All the same.")]


def test_rejecting_the_same_work_twice_excludes_it_once(client: Client, sent: Submission) -> None:
    address = reverse("console_decide", args=[sent.study.slug, sent.pk])
    for _ in range(2):
        client.post(address, {"decision": "reject", "feedback": "All the same.", "exclude": "on"})
    assert len(decisions(sent)) == 1
