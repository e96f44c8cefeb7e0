"""Workers whom a platform sends: one assignment for each claim, in the hit and arm that the posting names."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Hit, Participant, Posting, Study
from annotation.platforms.base import Claim
from annotation.recruiting.arrivals import accept_hit
from annotation.work.allocation import NotAdmitted
from tests.factories import make_author, make_study, make_worker

pytestmark = pytest.mark.django_db


def posted_study(**values: Any) -> tuple[Study, list[Posting]]:
    defaults: dict[str, Any] = {"items": 2, "ratings_per_item": 2, "hits_per_worker": None}
    study = make_study(**defaults | values)
    postings = [
        Posting.objects.create(
            study=study, hit=hit, platform="mturk", wanted=hit.wanted, state="open", external_id=f"H{study.pk}-{hit.pk}"
        )
        for hit in study.hits.order_by("position")
    ]
    return study, postings


def soon() -> datetime:
    return timezone.now() + timedelta(hours=1)


def arrive(posting: Posting, worker: str = "W1", assignment: str = "A1") -> Assignment:
    claim = Claim("mturk", worker, assignment)
    return accept_hit(posting=posting, claim=claim, expires_at=soon(), consented=False)


def refusal(posting: Posting, worker: str = "W1", assignment: str = "A1") -> str:
    with pytest.raises(NotAdmitted) as refused:
        arrive(posting, worker, assignment)
    return refused.value.reason


def live_places(posting: Posting) -> int:
    return Hit.objects.get(postings=posting).n_live


def test_the_same_claim_is_the_same_assignment() -> None:
    _, (posting, _) = posted_study()
    first = arrive(posting)
    assert arrive(posting).pk == first.pk
    assert (first.hit_id, live_places(posting)) == (posting.hit_id, 1)


def test_one_worker_may_hold_several_hits_open() -> None:
    _, (one, two) = posted_study()
    first, second = arrive(one, assignment="A1"), arrive(two, assignment="A2")
    assert (first.state, second.state) == ("accepted", "accepted")
    assert [first.ordinal, second.ordinal] == [1, 2]
    assert Participant.objects.count() == 1


def test_a_worker_with_a_new_assignment_has_returned_the_old_one() -> None:
    _, (posting, _) = posted_study()
    first = arrive(posting, assignment="A1")
    again = arrive(posting, assignment="A2")
    first.refresh_from_db()
    assert (first.state, again.state, again.attempt, live_places(posting)) == ("returned", "accepted", 2, 1)


def test_an_assignment_id_may_come_back_for_another_worker() -> None:
    _, (posting, _) = posted_study()
    first, other = arrive(posting, "W1", "A1"), arrive(posting, "W2", "A1")
    assert first.participant_id != other.participant_id
    assert live_places(posting) == 2


def test_a_place_that_the_platform_gives_out_ends_the_oldest_one_here() -> None:
    _, (posting, _) = posted_study()
    first, second = arrive(posting, "W1", "A1"), arrive(posting, "W2", "A2")
    arrive(posting, "W3", "A3")
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state, live_places(posting)) == ("abandoned", "accepted", 2)


def test_where_all_are_sent_there_is_one_more_than_wanted() -> None:
    _, (posting, _) = posted_study()
    for number in (1, 2):
        made = arrive(posting, f"W{number}", f"A{number}")
        Assignment.objects.filter(pk=made.pk).update(state="submitted", ended_at=timezone.now())
    arrive(posting, "W3", "A3")
    assert (live_places(posting), Hit.objects.get(postings=posting).wanted) == (3, 3)


def test_a_hit_that_was_sent_is_not_done_twice() -> None:
    _, (posting, _) = posted_study()
    Assignment.objects.filter(pk=arrive(posting, assignment="A1").pk).update(state="submitted")
    assert refusal(posting, assignment="A2") == "done"


def in_two_parts() -> tuple[Posting, Posting]:
    """One hit of ten submissions, offered in two postings of five."""
    study = make_study(items=1, ratings_per_item=10)
    hit = study.hits.get()
    made: dict[str, Any] = {"study": study, "hit": hit, "platform": "mturk", "wanted": 5, "state": "open"}
    one, two = (Posting.objects.create(part=part, external_id=f"H{study.pk}-{part}", **made) for part in (0, 1))
    return one, two


def test_work_in_progress_in_one_part_of_a_hit_is_not_lost_to_another_part() -> None:
    one, two = in_two_parts()
    first = arrive(one, assignment="A1")
    assert refusal(two, assignment="A2") == "open_elsewhere"
    first.refresh_from_db()
    assert (first.state, live_places(one)) == ("accepted", 1)


@pytest.mark.parametrize("state", ["submitted", "released"])
def test_what_was_sent_in_one_part_is_not_done_in_another(state: str) -> None:
    one, two = in_two_parts()
    Assignment.objects.filter(pk=arrive(one, assignment="A1").pk).update(state=state)
    assert refusal(two, assignment="A2") == "done_elsewhere"


def test_who_left_one_part_may_do_another_when_their_time_is_up() -> None:
    one, two = in_two_parts()
    first = arrive(one, assignment="A1")
    Assignment.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    again = arrive(two, assignment="A2")
    first.refresh_from_db()
    assert (first.state, again.state, live_places(one)) == ("returned", "accepted", 1)


def test_nobody_is_in_two_arms() -> None:
    study, postings = posted_study(arms=({"name": "a"}, {"name": "b"}))
    by_arm = {posting.hit.arm.name: posting for posting in postings if posting.hit}
    assert arrive(by_arm["a"]).participant.arm.name == "a"
    assert refusal(by_arm["b"], assignment="A2") == "other_arm"
    assert sorted(study.arms.values_list("name", "n_enrolled")) == [("a", 1), ("b", 0)]


def test_nobody_judges_their_own_text() -> None:
    _study, (posting, _) = posted_study()
    assert posting.hit is not None
    make_author(item=posting.hit.items.get(), worker=make_worker(platform="mturk", name="W1"))
    assert refusal(posting) == "own_text"


def test_participants_of_an_excluded_study_are_barred() -> None:
    first, (posting, _) = posted_study()
    arrive(posting)
    second, (other, _) = posted_study()
    second.exclude_studies.add(first)
    assert refusal(other) == "took_part"


def test_a_closed_study_admits_nobody_new_but_its_workers_find_their_page() -> None:
    study, (posting, two) = posted_study()
    first = arrive(posting)
    Study.objects.filter(pk=study.pk).update(status="closed")
    fresh = Posting.objects.select_related("study").get(pk=posting.pk)
    assert arrive(fresh).pk == first.pk
    assert refusal(Posting.objects.get(pk=two.pk), "W2", "A2") == "ended"
