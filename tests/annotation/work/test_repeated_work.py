"""Repeats in databases of earlier versions: their places are opened again, exactly as many as raters are missing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotation.models import Arm, Assignment, Hit, Participant, Study, Submission
from annotation.review.completion import tell_of_complete_studies
from annotation.review.progress import progress
from annotation.studies.staffing import items_without_enough_raters
from annotation.studies.storing import close_study
from annotation.work.allocation import NotAdmitted, NothingLeft, accept_next
from annotation.work.excluding import exclude_worker, include_worker
from annotation.work.repeated_work import places_to_reopen, reopen_repeats
from common.problems import Invalid
from tests.annotation.console_helpers import as_role
from tests.factories import make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


def repeat(first: Assignment, hit: Hit, *, ordinal: int = 2) -> Submission:
    """The same worker's work on another hit, as an earlier version stored it: without a row of `TakenItem`."""
    work = Assignment.objects.create(
        hit=hit,
        participant=first.participant,
        state="submitted",
        slot=hit.n_live,
        ordinal=ordinal,
        seed=1,
        order={},
        accepted_at=first.accepted_at,
        expires_at=first.expires_at,
    )
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1, n_submitted=F("n_submitted") + 1)
    now = timezone.now()
    values: dict[str, Any] = {"answers": [], "seconds": 9, "received_at": now}
    return Submission.objects.create(assignment=work, study=hit.study, participant=first.participant, **values)


def old_study(*, ratings: int = 1, **values: Any) -> tuple[Study, Hit, Submission]:
    """A text in two hits, each with ``ratings`` places. All are filled, one of them by a worker who had rated it."""
    study = make_study(items=1, ratings_per_item=ratings, hits_per_worker=None, **values)
    first, *_ = [make_submission(study=study).assignment for _ in range(ratings)]
    Arm.objects.filter(study=study).update(shares_items=True)
    second = study.hits.create(arm=study.arms.get(), position=1, wanted=ratings, reward=study.reward)
    again = repeat(first, second)
    second.places.create(item=study.items.get(), position=0)  # after the work, so that no trigger sees it
    for _ in range(ratings - 1):
        make_submission(study=study)
    return study, second, again


@pytest.mark.parametrize("ratings", [1, 3])
def test_exactly_the_places_of_repeats_open_and_other_workers_complete_the_study(ratings: int) -> None:
    study, second, again = old_study(ratings=ratings)
    assert len(items_without_enough_raters(study)) == 1
    assert places_to_reopen(study) == {second.pk: 1}
    assert tell_of_complete_studies() == 0
    assert (reopen_repeats(study=study, actor="ada"), reopen_repeats(study=study, actor="ada")) == (1, 0)
    found = progress(study)
    assert (found.submitted, found.wanted, found.released, found.items_done) == (2 * ratings - 1, 2 * ratings, 1, 0)
    with pytest.raises(NothingLeft):
        accept_next(participant_id=again.participant_id)  # they have had the text
    assert make_submission(study=study).assignment.hit_id == second.pk
    with pytest.raises(NotAdmitted, match="full"):
        make_participant(study=study)
    found = progress(study)
    assert (found.submitted, found.items_done, found.items_repeated, found.is_complete) == (2 * ratings, 1, 0, True)
    assert tell_of_complete_studies() == 1


def test_three_ratings_of_one_worker_leave_one_and_open_two() -> None:
    study, second, again = old_study()
    third = study.hits.create(arm=study.arms.get(), position=2, wanted=1)
    repeat(again.assignment, third, ordinal=3)
    third.places.create(item=study.items.get(), position=0)
    assert places_to_reopen(study) == {second.pk: 1, third.pk: 1}
    assert reopen_repeats(study=study, actor="ada") == 2


def test_what_stays_of_released_work_is_the_only_rating_of_another_text() -> None:
    """A worker did hits with the texts 1; 1 and 2; 2. Without the second hit, the third is their first rating of 2."""
    study = make_study(items=2, ratings_per_item=1, hits_per_worker=None)
    Arm.objects.filter(study=study).update(shares_items=True)
    one, two = study.hits.order_by("position")
    both = study.hits.create(arm=study.arms.get(), position=2, wanted=1)
    first = make_submission(study=study).assignment
    middle, last = repeat(first, both).assignment, repeat(first, {one.pk: two, two.pk: one}[first.hit_id], ordinal=3)
    for position, item in enumerate(study.items.all()):
        both.places.create(item=item, position=position)
    # As the migration fills the table: the first assignment has the row.
    last.assignment.taken_items.update(assignment=middle)
    assert places_to_reopen(study) == {both.pk: 1}


def test_nothing_is_opened_where_nobody_rated_twice_and_in_a_closed_study() -> None:
    study = make_study(items=1, ratings_per_item=2)
    assert [make_submission(study=study).participant_id for _ in range(2)]
    assert reopen_repeats(study=study, actor="ada") == 0
    other, _, _ = old_study(slug="closed")
    close_study(study=other, actor="ada")
    with pytest.raises(Invalid, match="closed"):
        reopen_repeats(study=other, actor="ada")


def test_including_the_worker_again_does_not_take_the_place_back() -> None:
    study, second, again = old_study()
    reopen_repeats(study=study, actor="ada")
    ada = make_researcher("ada")
    participant = Participant.objects.get(pk=again.participant_id)
    exclude_worker(participant=participant, note="Too fast.", user=ada, release=True)
    include_worker(participant=participant, note="It was not.", user=ada)
    second.refresh_from_db()
    assert (second.n_live, study.hits.order_by("position")[0].n_live) == (0, 1)


def test_the_command_shows_how_many_and_opens_them() -> None:
    study, _, _ = old_study(slug="old")
    assert "1 place can be opened again. Nothing was changed." in run("old", "--dry-run")
    assert "1 place opened again." in run("old")
    assert progress(study).submitted == 1


def test_an_editor_opens_them_on_the_study_s_page() -> None:
    study, _, _ = old_study()
    client = as_role("editor", study)
    page, address = reverse("console_study", args=[study.slug]), reverse("console_reopen_repeats", args=[study.slug])
    assert address in client.get(page).content.decode()
    assert "open again" in client.post(address, follow=True).content.decode()
    assert address not in client.get(page).content.decode()
    viewer = as_role("viewer", study)
    assert viewer.post(address).status_code in (403, 404)


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("study", "reopen-repeats", *words, stdout=out)
    return out.getvalue()


def test_an_item_that_lacks_raters_in_one_arm_and_submissions_in_another_is_not_done() -> None:
    study = make_study(items=1, ratings_per_item=1, hits_per_worker=None, arms=[{"name": "a"}, {"name": "b"}])
    first = make_submission(study=study).assignment
    Arm.objects.filter(study=study).update(shares_items=True)
    second = study.hits.create(arm=first.participant.arm, position=2, wanted=1, reward=study.reward)
    repeat(first, second)
    second.places.create(item=study.items.get(), position=0)
    now = progress(study)
    assert (now.items, now.items_done, now.items_repeated) == (1, 0, 1)
