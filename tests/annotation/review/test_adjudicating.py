"""Settling differences between coders: side by side, saved with who decided, in report, bundle and export."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.urls import reverse

from annotation.models import Adjudication, AuditEntry, Item, Study
from annotation.results.exports import export
from annotation.results.frames import study_data, write_study_bundle
from annotation.results.saved_reports import fingerprint
from annotation.review.adjudicating import settle
from annotation.work.coded_items import coded_items
from annotation.work.excluding import review_submission
from annotation.work.member_work import start_member_work
from common.problems import Invalid
from tests.annotation.coding_helpers import code, coded_study, coder, coding_study
from tests.annotation.console_helpers import signed_in
from tests.annotation.pages import fields
from tests.factories import make_study

pytestmark = pytest.mark.django_db

ONE = {"s0": "grammar", "s1": "grammar facts", "s2": "vague"}
TWO = {"s0": "grammar", "s1": "facts", "s2": "facts"}


@pytest.fixture
def coded() -> tuple[Study, User, User]:
    """Both coders agree on s0 and differ on s1 and s2."""
    return coded_study(ONE, TWO)


def item(study: Study, name: str) -> Item:
    return Item.objects.get(study=study, external_id=name)


def states(study: Study) -> dict[str, str]:
    return {each.name: each.state for each in coded_items(study)}


def test_items_agree_differ_or_wait(coded: tuple[Study, User, User]) -> None:
    assert states(coded[0]) == {"s0": "agree", "s1": "differ", "s2": "differ"}
    study = coding_study(items=2)
    code(start_member_work(study=study, user=coder("anna", study)), s0="facts", s1="facts")
    assert set(states(study).values()) == {"waiting"}


def test_a_decision_is_kept_with_who_made_it(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    made = settle(item=item(study, "s1"), chosen=["facts"], note=" The year ", user=anna)
    assert made is not None
    assert (made.chosen, made.note, made.user, made.question) == (["facts"], "The year", anna, "labels")
    assert states(study)["s1"] == "settled"
    entry = AuditEntry.objects.get(study=study, action="settle")
    assert (entry.actor, entry.detail["item"], entry.detail["chosen"]) == ("anna", "s1", ["facts"])


def test_the_newest_decision_counts_and_the_earlier_ones_stay(coded: tuple[Study, User, User]) -> None:
    study, anna, ben = coded
    settle(item=item(study, "s1"), chosen=["facts"], note="", user=anna)
    settle(item=item(study, "s1"), chosen=["grammar"], note="", user=ben)
    assert settle(item=item(study, "s1"), chosen=["grammar"], note="", user=anna) is None
    (found,) = coded_items(study, only=item(study, "s1").pk)
    assert found.settled is not None
    assert (found.final, found.settled.by) == (frozenset({"grammar"}), "ben")
    assert Adjudication.objects.count() == 2


def test_decisions_cannot_be_changed_or_deleted(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    settle(item=item(study, "s1"), chosen=["facts"], note="", user=anna)
    with pytest.raises(DatabaseError), transaction.atomic():
        Adjudication.objects.update(note="other")
    with pytest.raises(DatabaseError), transaction.atomic():
        Adjudication.objects.all().delete()


def test_what_cannot_be_settled_is_refused(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    with pytest.raises(Invalid, match="No label is chosen"):
        settle(item=item(study, "s1"), chosen=[], note="", user=anna)
    with pytest.raises(Invalid, match="There is no label “spelling”"):
        settle(item=item(study, "s1"), chosen=["spelling"], note="", user=anna)
    waiting = coding_study(items=1)
    with pytest.raises(Invalid, match="does not have all its codes yet"):
        settle(item=item(waiting, "s0"), chosen=["facts"], note="", user=anna)
    other = make_study(items=1)
    with pytest.raises(Invalid, match="has no answers to settle"):
        settle(item=item(other, "s0"), chosen=["facts"], note="", user=anna)


def test_excluded_codes_do_not_count(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    sent = study.submissions.get(
        participant__worker__platform_id=str(anna.pk), assignment__hit__items__external_id="s1"
    )
    review_submission(submission=sent, decision="exclude", note="", user=anna)
    assert states(study)["s1"] == "waiting"


# --- the console ---


def test_both_coders_are_side_by_side_and_saving_leads_to_the_next_difference(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    client = signed_in(anna)
    address = reverse("console_adjudicate", args=[study.slug, item(study, "s1").pk])
    response = client.get(address)
    page = fields(response)
    assert "anna ben Final" in page.text
    assert "Grammar differs yes no" in page.text
    assert "Facts What the text claims. yes yes" in page.text
    checked = {name for name, value in page.values.items() if name.startswith("labels.") and value == "yes"}
    assert checked == {"labels.facts"}  # what both chose
    saved = client.post(address, {"labels.facts": "yes", "note": "agreed by phone"})
    assert saved.headers["Location"] == reverse("console_adjudicate", args=[study.slug, item(study, "s2").pk])
    saved = client.post(saved.headers["Location"], {"labels.vague": "yes"})
    assert saved.headers["Location"] == reverse("console_coding", args=[study.slug])
    assert Adjudication.objects.get(item__external_id="s1").note == "agreed by phone"
    listed = fields(client.get(reverse("console_coding", args=[study.slug]), {"state": "settled"})).text
    assert "Settled: 2" in listed
    assert "To settle: 0" in listed


def test_a_decision_without_labels_is_refused_with_a_message(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    address = reverse("console_adjudicate", args=[study.slug, item(study, "s1").pk])
    page = signed_in(anna).post(address, {}, follow=True).content.decode()
    assert "No label is chosen. Choose at least one final label." in page
    assert not Adjudication.objects.exists()


def test_viewers_see_differences_and_do_not_settle_them(coded: tuple[Study, User, User]) -> None:
    study, _, ben = coded
    client = signed_in(ben)
    address = reverse("console_adjudicate", args=[study.slug, item(study, "s1").pk])
    assert "Editors and owners of the study can settle this." in fields(client.get(address)).text
    assert client.post(address, {"labels.facts": "yes"}).status_code == 404
    assert not Adjudication.objects.exists()


# --- what happens to the decisions ---


def test_final_labels_are_in_the_data_and_the_bundle(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    before = fingerprint(study)
    settle(item=item(study, "s1"), chosen=["facts"], note="", user=anna)
    assert fingerprint(study) != before
    rows = study_data(study).adjudications.to_dict("records")
    assert [(row["item"], row["target"], row["value"]) for row in rows] == [
        ("s1", "grammar", 0),
        ("s1", "facts", 1),
        ("s1", "vague", 0),
    ]
    out = io.BytesIO()
    write_study_bundle(study, out)
    assert b"adjudications.csv" in out.getvalue()
    assert study_data(make_study(items=1)).adjudications.empty


def test_the_export_has_every_label_with_who_chose_it_and_the_final_answer(coded: tuple[Study, User, User]) -> None:
    study, anna, _ = coded
    settle(item=item(study, "s1"), chosen=["facts"], note="the year", user=anna)
    out = io.BytesIO()
    assert export(study, kind="final", out=out) == 9
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode())))
    found = {(row["item"], row["target"]): row for row in rows}
    assert (found["s0", "grammar"]["final"], found["s0", "grammar"]["decided"]) == ("true", "agreed")
    settled = found["s1", "facts"]
    assert (settled["chosen"], settled["final"], settled["decided"]) == ("2", "true", "settled")
    assert (settled["settled_by"], settled["note"], settled["category"]) == ("anna", "the year", "Content")
    assert found["s1", "grammar"]["final"] == "false"
    assert len(found["s1", "grammar"]["chosen_by"].split()) == 1
    assert (found["s2", "vague"]["final"], found["s2", "vague"]["decided"]) == ("", "")
