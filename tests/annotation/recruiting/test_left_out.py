"""Work that the platform has not confirmed is in no figure, on any page, in any file or program."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from annotation.models import Posting, Rating, Study
from annotation.platforms.mturk.platform import Mturk
from annotation.platforms.panel import Panel
from annotation.recruiting import publishing, syncing
from annotation.results.frames import study_data
from annotation.results.saved_reports import fingerprint
from annotation.review.rating_counts import rating_counts
from annotation.studies import items_overview
from annotation.studies.outputs import outputs_to_take
from annotation.task_types.registry import get_type
from annotation.work.hourly_pay import pay_of
from tests.annotation.console_helpers import as_role
from tests.annotation.recruiting.helpers import send_both, send_claim, send_here
from tests.annotation.results.exports.helpers import exported, read_csv
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk) -> Study:
    """One item. It got a 1 from a worker whom the platform confirms, and a 5 from one whom it does not know."""
    made = make_study(items=1, ratings_per_item=3, reward=Decimal("0.18"))
    publishing.plan_postings(study=made, platform=api, actor="test")
    publishing.post_all(study=made, platform=api)
    posting = made.postings.get()
    for work, value in ((send_both(posting), 1), (send_here(posting, "W-FORGED", "A-FORGED"), 5)):
        mine = Rating.objects.filter(submission__assignment=work, question="diversity")
        # Ratings refuse every change, so this makes a new one.
        old = mine.get()
        old.delete()
        old.pk, old.value = None, value
        old.save()
    syncing.sync_study(study=made, platform=api)
    return made


def marks(study: Study, kind: str) -> set[tuple[str, str]]:
    return {(row["included"], row["confirmation"]) for row in read_csv(exported(study, kind))}


def test_every_score_is_that_of_confirmed_work(study: Study) -> None:
    (row,) = items_overview.item_rows(study, list(study.items.all()))
    assert [score.score for score in row.scores] == [1.0]
    (wide,) = read_csv(exported(study, "wide"))
    assert (wide["submissions"], wide["diversity_mean"]) == ("1", "1.0")
    (released,) = read_csv(exported(study, "diversity-eval"))
    assert released["metric_abs_hds_mean"] == "1.000"
    data = study_data(study)
    assert list(data.ratings.query("question == 'diversity'")["value"]) == [1.0]
    assert rating_counts(study).included == len(data.ratings["value"].dropna())
    assert [arm.n for arm in pay_of(study)] == [1]


def test_files_and_programs_see_who_is_confirmed(study: Study) -> None:
    assert marks(study, "long") == {("true", "confirmed"), ("false", "unconfirmed")}
    address = reverse("api_ratings", args=[study.slug])
    found: Any = as_role("viewer", study).get(address).json()["results"]
    assert {(rating["included"], rating["confirmation"]) for rating in found} == {
        (True, "confirmed"),
        (False, "unconfirmed"),
    }
    payments: Any = as_role("editor", study).get(reverse("console_payments_file", args=[study.slug]))
    rows = read_csv(payments.getvalue().decode())
    told = {row["state"]: row["hits_unconfirmed"] for row in rows}
    assert told == {"to_approve": "0", "unconfirmed": "1"}


def test_a_report_is_made_again_after_a_sync_confirmed_work(api: Mturk) -> None:
    made = make_study(items=1, ratings_per_item=3, reward=Decimal("0.18"))
    publishing.plan_postings(study=made, platform=api, actor="test")
    publishing.post_all(study=made, platform=api)
    send_both(made.postings.get())
    before = fingerprint(made)
    syncing.sync_study(study=made, platform=api)
    assert fingerprint(made) != before


def test_texts_that_are_not_confirmed_are_judged_by_nobody(api: Mturk) -> None:
    source = make_study(task_type="con_test", items=1, ratings_per_item=2, reward=Decimal("0.18"))
    publishing.plan_postings(study=source, platform=api, actor="test")
    publishing.post_all(study=source, platform=api)
    confirmed = send_both(source.postings.get())
    send_here(source.postings.get(), "W-FORGED", "A-FORGED")
    task = get_type("abs_hds")
    assert not outputs_to_take(task=task, source=source, arms=[]).exists()
    syncing.sync_study(study=source, platform=api)
    taken = outputs_to_take(task=task, source=source, arms=[])
    assert {output.submission.assignment_id for output in taken} == {confirmed.pk}
    assert marks(source, "outputs") == {("true", "confirmed"), ("false", "unconfirmed")}


def test_what_a_panel_claims_counts_and_is_marked() -> None:
    made = make_study(items=1, ratings_per_item=2, reward=Decimal("0.50"), platforms={"panel": {"panel": "sona"}})
    publishing.plan_postings(study=made, platform=Panel(), actor="test")
    publishing.post_all(study=made, platform=Panel())
    send_claim(Posting.objects.get(study=made), "sona/p1", "p1")
    assert marks(made, "long") == {("true", "claimed")}


def test_work_by_the_studys_link_needs_no_confirmation() -> None:
    made = make_study(items=1, ratings_per_item=1)
    make_submission(study=made)
    assert marks(made, "long") == {("true", "")}
