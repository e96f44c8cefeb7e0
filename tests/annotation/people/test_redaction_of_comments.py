"""A worker whose explanations are the items of a coding study has their data deleted: their words go, labels stay."""

from __future__ import annotations

import csv
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection  # noqa: F401 - read by the marker
from django.urls import reverse

from annotation.models import Adjudication, AuditEntry, Item, Participant, Rating, Study
from annotation.people import redacting_rows
from annotation.people.redacting import redact
from annotation.people.redacting_traces import REMOVED
from annotation.results.exports import export
from annotation.review.adjudicating import settle
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.work.coded_items import coded_items
from annotation.work.member_work import start_member_work
from hitserver.backup.service import back_up
from tests.annotation.coding_helpers import LABELS, code, coder
from tests.annotation.console_helpers import signed_in
from tests.annotation.redaction_helpers import WROTE, exports_with, files_with, rows_with, walk
from tests.factories import make_assignment, make_participant, make_study

#: A part of the comment: no search for the whole comment finds it.
NOTE = f"“{WROTE}” is a made-up word, so it is about grammar."


@dataclass(frozen=True)
class Coded:
    """The coding of three people's explanations, and the one whose words are to be deleted."""

    source: Study
    coding: Study
    writer: Participant
    item: Item
    owner: User


def coded_comments() -> Coded:
    source = make_study(task_type="detection", items=4, ratings_per_item=9)
    people = [make_participant(study=source) for _ in range(3)]
    for person in people:
        assert walk(make_assignment(participant=person), mark=person is people[0]) is not None
    coding = make_study(
        task_type="comment_coding",
        items=0,
        live=False,
        ratings_per_item=2,
        hits_per_worker=None,
        config={"labels": LABELS, "authors_per_domain": 3},
    )
    set_feed(study=coding, source=source, actor="olga")
    publish(study=coding, actor="olga")
    coding.refresh_from_db()
    owner = coder("olga", coding, role="owner")
    names = list(coding.items.values_list("external_id", flat=True))
    for name, label in (("anna", "grammar"), ("ben", "facts")):
        code(start_member_work(study=coding, user=coder(name, coding)), **dict.fromkeys(names, label))
    item = next(each for each in coding.items.all() if WROTE in each.payload["comment"])
    settle(item=item, chosen=["grammar"], note="The first try.", user=owner)
    settle(item=item, chosen=["grammar", "facts"], note=NOTE, user=owner)
    other = coding.items.exclude(pk=item.pk).first()
    assert other is not None
    settle(item=other, chosen=["facts"], note="Nobody quotes anything here.", user=owner)
    return Coded(source, coding, people[0], item, owner)


@pytest.fixture
def coded(db: None, tmp_path: Path, settings: Any) -> Coded:
    settings.VAR = tmp_path
    return coded_comments()


def final_labels(study: Study) -> list[dict[str, str]]:
    out = io.BytesIO()
    export(study, kind="final", format="csv", out=out)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode("utf-8-sig"))))


def test_nothing_of_the_comment_is_left_in_any_table_export_report_or_page(coded: Coded, tmp_path: Path) -> None:
    client = signed_in(coded.owner)
    pages = [
        reverse("report", args=[coded.coding.slug]),
        reverse("console_adjudicate", args=[coded.coding.slug, coded.item.pk]),
        reverse("console_item", args=[coded.coding.slug, coded.item.pk]),
        reverse("console_activity", args=[coded.coding.slug]),
    ]
    before = [WROTE in client.get(page).content.decode() for page in pages]
    assert before[1:] == [True, True, True]
    found = exports_with([coded.coding], WROTE)
    assert {f"{coded.coding.slug}/{name}" for name in ("final.csv", "final.jsonl", "items.csv")} <= set(found)

    done = redact(participants=[coded.writer], actor="olga")

    assert done.left == []
    assert rows_with(WROTE) == {}
    assert exports_with([coded.coding, coded.source], WROTE) == []
    assert [WROTE in client.get(page).content.decode() for page in pages] == [False] * 4
    assert files_with(tmp_path, WROTE) == []


def test_labels_final_labels_and_other_notes_stay(coded: Coded) -> None:
    def labels() -> list[Any]:
        return sorted(Rating.objects.filter(study=coded.coding).values_list("pk", "item_id", "target", "value"))

    def without_notes() -> list[dict[str, str]]:
        return [{name: cell for name, cell in row.items() if name != "note"} for row in final_labels(coded.coding)]

    before = labels(), without_notes(), [(item.name, item.state) for item in coded_items(coded.coding)]
    redact(participants=[coded.writer], actor="olga")
    assert (labels(), without_notes(), [(item.name, item.state) for item in coded_items(coded.coding)]) == before
    notes = {(row["item"], row["note"]) for row in final_labels(coded.coding)}
    assert (coded.item.external_id, REMOVED) in notes
    assert {note for _, note in notes} == {REMOVED, "Nobody quotes anything here.", ""}
    coded.item.refresh_from_db()
    assert coded.item.payload["comment"] == REMOVED


def test_earlier_notes_and_the_activity_are_blank_too(coded: Coded) -> None:
    redact(participants=[coded.writer], actor="olga")
    mine = Adjudication.objects.filter(item=coded.item)
    assert list(mine.values_list("note", flat=True)) == [REMOVED, REMOVED]
    logged = AuditEntry.objects.filter(study=coded.coding, action="settle").order_by("pk")
    assert [entry.detail["note"] for entry in logged] == [REMOVED, REMOVED, "Nobody quotes anything here."]
    assert [entry.detail["chosen"] for entry in logged] == [["grammar"], ["grammar", "facts"], ["facts"]]


def test_the_search_finds_a_note_that_was_left(coded: Coded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redacting_rows, "_blank_notes", lambda items: None)
    redact(participants=[coded.writer], actor="olga")
    assert set(rows_with(WROTE)) == {"annotation_adjudication.note", "annotation_auditentry.detail"}
    assert any("final." in name for name in exports_with([coded.coding], WROTE))


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_a_backup_made_afterwards_does_not_contain_the_comment(tmp_path: Path, settings: Any) -> None:
    settings.VAR = tmp_path / "var"
    settings.VAR.mkdir()
    found = coded_comments()

    def backup_has_it(name: str) -> bool:
        back_up(tmp_path / name)
        with tarfile.open(tmp_path / name) as tar:
            files = [tar.extractfile(member) for member in tar.getmembers() if member.isfile()]
            return any(WROTE.encode() in file.read() for file in files if file is not None)

    assert backup_has_it("before.tar.gz")
    redact(participants=[found.writer], actor="olga")
    assert not backup_has_it("after.tar.gz")
