"""Receipts: one file per worker and month, over several studies, whatever the payment was for."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Participant, PartPayment, Payment, Study, Worker
from annotation.review.receipts import write_receipts
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
NOVEMBER = datetime(2026, 11, 30, 23, 59, 59, 999_999, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)


def files(*studies: Study, **period: int) -> dict[str, list[dict[str, str]]]:
    data = io.BytesIO()
    count = write_receipts(studies, data, **period)
    with zipfile.ZipFile(data) as archive:
        found = {name: list(csv.DictReader(io.StringIO(archive.read(name).decode()))) for name in archive.namelist()}
    assert len(found) == count + 1
    return found


def pay(study: Study, amount: str, at: datetime, **values: Any) -> Payment:
    values = {"platform": "link", "actor": "ada"} | values
    return Payment.objects.create(study=study, amount=Decimal(amount), created_at=at, **values)


def person(study: Study, platform_id: str) -> Participant:
    worker, _ = Worker.objects.get_or_create(platform="link", platform_id=platform_id)
    return make_participant(study=study, worker=worker)


def test_a_receipt_has_everything_of_one_month_from_all_studies() -> None:
    one, other = make_study(hits_per_worker=None, items=2), make_study()
    here, there = person(one, "A/1"), person(other, "A/1")
    pay(one, "0.18", NOVEMBER, submission=make_submission(participant=here))
    pay(other, "0.25", NOVEMBER, submission=make_submission(participant=there))
    part = PartPayment.objects.create(
        assignment=make_assignment(participant=here), amount=Decimal("0.05"), steps_done=1, created_at=NOVEMBER
    )
    pay(one, "0.05", NOVEMBER, part=part, kind="partial", key=f"part/{part.pk}")
    pay(one, "0.50", DECEMBER, kind="bonus", key="b", worker_id="A/1")  # for nothing that arrived here
    found = files(one, other)
    assert list(found) == ["2026/11/link-A-1.csv", "2026/12/link-A-1.csv", "receipts.csv"]
    november = found["2026/11/link-A-1.csv"]
    assert [(row["study"], row["kind"], row["usd"], row["worker"]) for row in november] == [
        (one.slug, "reward", "0.180", here.pseudonym),
        (other.slug, "reward", "0.250", there.pseudonym),
        (one.slug, "partial", "0.050", here.pseudonym),
        ("", "", "0.480", ""),
    ]
    assert [row["worker"] for row in found["2026/12/link-A-1.csv"]] == [here.pseudonym, ""]
    sums = [(row["year"], row["month"], row["workers"], row["payments"], row["usd"]) for row in found["receipts.csv"]]
    both = " ".join(sorted([here.pseudonym, there.pseudonym]))
    assert sums == [("2026", "11", both, "3", "0.480"), ("2026", "12", here.pseudonym, "1", "0.500")]
    assert list(files(one, other, year=2026, month=12)) == ["2026/12/link-A-1.csv", "receipts.csv"]
    assert list(files(other)) == ["2026/11/link-A-1.csv", "receipts.csv"]


def test_ids_that_look_the_same_get_a_number() -> None:
    study = make_study()
    for name in ("a b", "A-B", ""):
        pay(study, "1", NOVEMBER, worker_id=name, platform_id=f"x{name}")
    found = files(study)
    assert {row["file"]: row["worker_id"] for row in found["receipts.csv"]}.keys() == found.keys() - {"receipts.csv"}
    names = {name.lower() for name in found}
    assert names == {"2026/11/link-a-b.csv", "2026/11/link-a-b-2.csv", "2026/11/link-unknown.csv", "receipts.csv"}
