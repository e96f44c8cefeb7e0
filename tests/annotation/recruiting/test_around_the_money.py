"""Fees of the endpoint, receipts, objections, and messages to workers: against this server's own marketplace."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import AuditEntry, OutsideAssignment, Posting, Study
from annotation.platforms.costs import MTURK, Offered, cost_of
from annotation.platforms.mturk import beyond
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import deciding_on_platform, polling, recorded_payments, syncing
from annotation.recruiting.messages import write_to_workers
from annotation.recruiting.recorded_payments import record_extra
from common.problems import Invalid
from marketplace.models import Assignment as MarketAssignment
from marketplace.models import Message
from marketplace.services import disputes
from tests.annotation.console_helpers import as_role
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_there
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
ELSEWHERE = "https://crowd.example.org/marketplace/api/"


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Mturk, "connected", classmethod(lambda cls, account=None: api))
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=1, ratings_per_item=5)


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.get()


# --- fees ---


def test_a_marketplace_on_another_host_is_asked_for_its_fees(api: Mturk, settings: Any) -> None:
    """50 assignments of $0.18 where 33 % is charged: 0.0594 is 0.06 each, so $12.00. Amazon's 20 % would be $10.80."""
    fifty = [Offered(50, Decimal("0.18"), 1)]
    assert cost_of(fifty, fees=MTURK).total == Decimal("10.80")
    settings.MTURK_ENDPOINT = ELSEWHERE
    settings.MARKETPLACE_FEE_PERCENT = 33  # as it is set there
    api.balance()
    settings.MARKETPLACE_FEE_PERCENT = 20  # as it is set here
    assert cost_of(fifty, fees=Mturk.offline().fees()).total == Decimal("12.00")
    assert cost_of(fifty, fees=api.fees()).total == Decimal("12.00")


def test_an_endpoint_that_does_not_say_rounds_each_fee_as_set_here(settings: Any) -> None:
    settings.MTURK_ENDPOINT = ELSEWHERE
    # 20 % of 0.18 is 0.036, charged as 0.04
    assert cost_of([Offered(50, Decimal("0.18"), 1)], fees=Mturk.offline().fees()).total == Decimal("11.00")
    settings.MTURK_ENDPOINT = "https://mturk-requester.us-east-1.amazonaws.com"
    assert Mturk.offline().fees() == MTURK


def test_without_a_fee_there_is_no_minimum_fee(settings: Any) -> None:
    settings.MTURK_ENDPOINT = ELSEWHERE
    settings.MARKETPLACE_FEE_PERCENT = 0
    assert cost_of([Offered(2, Decimal("0.18"), 1)], fees=Mturk.offline().fees()).fees == 0
    assert cost_of([Offered(1, Decimal("0.18"), 10)], fees=Mturk.offline().fees()).fees == Decimal("0.70")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fees": ["a"]}', '{"fees": ["20"], "objections": 3}'])
def test_a_header_that_makes_no_sense_says_nothing(text: str) -> None:
    read = beyond.read({"ResponseMetadata": {"HTTPHeaders": {beyond.HEADER: text}}})
    assert (tuple(read.fees), dict(read.objections)) == ((), {})


def test_only_web_addresses_are_taken_from_the_header() -> None:
    text = json.dumps({"objections": {"A": "javascript:alert(1)", "B": "https://crowd.example.org/b"}})
    read = beyond.read({"ResponseMetadata": {"HTTPHeaders": {beyond.HEADER: text}}})
    assert dict(read.objections) == {"B": "https://crowd.example.org/b"}


# --- objections ---


def reject(posting: Posting, api: Mturk) -> OutsideAssignment:
    send_both(posting)
    syncing.sync_study(study=posting.study, platform=api)
    outside = posting.outside.latest("pk")
    deciding_on_platform.reject(outside=outside, platform=api, actor="test", feedback="All answers are the same.")
    return outside


def object_to(outside: OutsideAssignment) -> None:
    work = MarketAssignment.objects.select_related("worker").get(assignment_id=outside.external_id)
    disputes.object_to(assignment_id=work.assignment_id, worker=work.worker, text="I took care with every answer.")


def test_an_objection_is_seen_in_the_console_until_it_is_decided(study: Study, posting: Posting, api: Mturk) -> None:
    outside = reject(posting, api)
    assert polling.look_for_objections() == 0
    object_to(outside)
    assert [polling.look_for_objections() for _ in range(2)] == [1, 0]
    assert AuditEntry.objects.filter(action="objection").count() == 1
    client = as_role("owner", study)
    address = f"http://testserver{reverse('operate_my_assignment', args=[outside.external_id])}"
    submission = study.submissions.get()
    for name, args in (
        ("console_study", [study.slug]),
        ("console_platforms", [study.slug]),
        ("console_submission", [study.slug, submission.pk]),
    ):
        page = client.get(reverse(name, args=args)).content.decode()
        assert "to a rejection" in page or "objects to the rejection" in page, name
        assert reverse("operate_my_assignment", args=[outside.external_id]) in page, name
    assert OutsideAssignment.objects.get().objection_url.endswith(address.removeprefix("http://testserver"))
    work = MarketAssignment.objects.get(assignment_id=outside.external_id)
    disputes.decide(assignment=work, overturn=False, reason="They were the same.", actor="op")
    polling.look_for_objections()
    assert "to a rejection" not in client.get(reverse("console_study", args=[study.slug])).content.decode()


def test_the_sync_command_says_that_a_worker_objects(study: Study, posting: Posting, api: Mturk) -> None:
    object_to(reject(posting, api))
    out = io.StringIO()
    call_command("study", "sync", study.slug, stdout=out, stderr=out)
    assert "1 worker objects to a rejection" in out.getvalue()


# --- messages ---


def test_a_message_reaches_the_workers_once_and_names_those_it_did_not_reach(
    study: Study, posting: Posting, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MTurk passes a message on only to workers whose work was decided before (NotifyWorkers)."""
    decided, waiting = send_both(posting), send_both(posting)
    syncing.sync_study(study=study, platform=api)
    outside = posting.outside.get(worker_id=decided.participant.worker.platform_id)
    deciding_on_platform.approve(outside=outside, platform=api, actor="test")
    before = Message.objects.count()
    terms = {"subject": "A second part", "text": "There is a second part.", "key": "k1", "actor": "ada"}
    for _ in range(2):
        written = write_to_workers(study=study, connect=lambda name, study: api, **terms)
    assert (written.workers, list(written.not_reached)) == (2, [waiting.participant.pseudonym])
    assert Message.objects.count() == before + 1
    noted = AuditEntry.objects.filter(action="write to workers")
    assert [each.detail["subject"] for each in noted] == ["A second part"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"subject": " "}, "The subject is empty"),
        ({"text": ""}, "The text is empty"),
        ({"text": "x" * 4097}, "4,097 characters"),
        ({"subject": "x" * 201}, "201 characters"),
    ],
)
def test_a_message_that_mturk_would_refuse_is_not_sent(
    change: dict[str, str], words: str, study: Study, posting: Posting, api: Mturk
) -> None:
    send_both(posting)
    terms = {"subject": "Hello", "text": "Hello.", "key": "k", "actor": "ada"} | change
    with pytest.raises(Invalid, match=words):
        write_to_workers(study=study, connect=lambda name, study: api, **terms)


def test_owners_write_from_the_console(study: Study, posting: Posting, api: Mturk) -> None:
    work = send_both(posting)
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.approve(outside=posting.outside.get(), platform=api, actor="test")
    owner, editor = as_role("owner", study), as_role("editor", study)
    address = reverse("console_write", args=[study.slug])
    worker = reverse("console_worker", args=[study.slug, work.participant.pseudonym])
    assert f"{address}?worker={work.participant.pseudonym}" in owner.get(worker).content.decode()
    assert address not in editor.get(worker).content.decode()
    assert editor.get(address).status_code == 404
    assert address in owner.get(reverse("console_platforms", args=[study.slug])).content.decode()
    assert "1 worker who began work" in owner.get(address).content.decode()
    form = {"worker": work.participant.pseudonym, "subject": "Thanks", "text": "Thank you.", "key": "abc"}
    assert owner.post(address, form | {"text": ""}).status_code == 422
    sent = owner.post(address, form, follow=True)
    assert "Sent to 1 worker." in sent.content.decode()
    assert Message.objects.filter(subject="Thanks").count() == 1


# --- receipts ---


def opened(data: bytes) -> dict[str, list[dict[str, str]]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: list(csv.DictReader(io.StringIO(file.read(name).decode()))) for name in file.namelist()}


@contextmanager
def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> Iterator[None]:
    """Payments are recorded at this time."""
    with monkeypatch.context() as patched:
        patched.setattr(recorded_payments, "timezone", SimpleNamespace(now=lambda: moment))
        yield


def test_receipts_are_one_file_per_worker_month_and_year(
    study: Study, posting: Posting, api: Mturk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: in November a reward of 0.18 and a bonus of 0.50 for one worker, 0.18 for another whose work never
    arrived here; in January a bonus of 0.25."""
    work = send_both(posting)
    unknown = make_market_worker()
    send_there(accept_there(posting, unknown))
    syncing.sync_study(study=study, platform=api)
    known = work.participant.worker.platform_id
    bonus: dict[str, Any] = {"study": study, "kind": "bonus", "reason": "=1+1", "platform": "mturk", "actor": "test"}
    bonus |= {"submission": work.submission, "worker_id": known}
    with at(monkeypatch, datetime(2026, 11, 30, 23, 59, tzinfo=UTC)):
        for outside in posting.outside.all():
            deciding_on_platform.approve(outside=outside, platform=api, actor="test")
        record_extra(key="b1", amount=Decimal("0.50"), **bonus)
    with at(monkeypatch, datetime(2027, 1, 1, 0, 0, tzinfo=UTC)):
        record_extra(key="b2", amount=Decimal("0.25"), **bonus)
    response: Any = as_role("owner", study).get(reverse("console_receipts", args=[study.slug]))
    files = opened(response.getvalue())
    assert sorted(files) == [
        *sorted([f"2026/11/mturk-{known}.csv", f"2026/11/mturk-{unknown.worker_id}.csv"]),
        f"2027/01/mturk-{known}.csv",
        "receipts.csv",
    ]
    november = files[f"2026/11/mturk-{known}.csv"]
    assert [(row["kind"], row["usd"]) for row in november] == [("reward", "0.180"), ("bonus", "0.500"), ("", "0.680")]
    assert november[1]["reason"] == "'=1+1"
    sums = {(row["year"], row["worker_id"]): row["usd"] for row in files["receipts.csv"]}
    assert sums == {("2026", known): "0.680", ("2026", unknown.worker_id): "0.180", ("2027", known): "0.250"}
    assert AuditEntry.objects.get(action="export worker ids").detail["kind"] == "receipts"
    assert as_role("editor", study).get(reverse("console_receipts", args=[study.slug])).status_code == 404
    file = tmp_path / "receipts.zip"
    call_command("study", "receipts", "--year", "2026", "--month", "11", "--out", str(file), stdout=io.StringIO())
    assert sorted(opened(file.read_bytes())) == [
        *sorted(each for each in files if each.startswith("2026")),
        "receipts.csv",
    ]
    with pytest.raises(CommandError, match="--month needs --year"):
        call_command("study", "receipts", "--month", "1", "--out", str(file))


# --- the overview ---


def test_a_study_on_a_platform_does_not_offer_its_link_to_share(study: Study) -> None:
    page = as_role("owner", study).get(reverse("console_study", args=[study.slug])).content.decode()
    assert "Share this link" not in page
    assert "This study is on MTurk. Its workers come from there" in page
