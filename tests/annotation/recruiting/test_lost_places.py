"""Lost places are offered again until every hit has what it wants, but never more, and never after the end.

Expected numbers are counted by hand. The rule of nine and ten is MTurk's (CreateAdditionalAssignmentsForHIT: "HITs that
were created with fewer than 10 assignments cannot be extended to have 10 or more").
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Posting, Study
from annotation.platforms import changes_of
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import adding_ratings, changing_offers, deciding_on_platform, lost_places, syncing
from annotation.recruiting.offered_work import lost, missing_places
from annotation.work.excluding import review_submission
from marketplace.models import Hit as MarketHit
from marketplace.services.refusals import Refusal
from tests.annotation.console_helpers import make_user
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here, send_there
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=1, ratings_per_item=2)


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.get()


def there(posting: Posting) -> MarketHit:
    return MarketHit.objects.get(hit_id=posting.external_id)


def sync(study: Study, api: Mturk) -> lost_places.Replaced:
    syncing.sync_study(study=study, platform=api)
    return lost_places.replace_lost(study=study, platform=api)


def reject(posting: Posting, work: Assignment, api: Mturk) -> None:
    outside = posting.outside.get(external_id=work.platform_assignment_id)
    deciding_on_platform.reject(outside=outside, platform=api, actor="test", feedback="All answers are the same.")


def test_nothing_is_missing_while_work_is_on_its_way(study: Study, posting: Posting, api: Mturk) -> None:
    send_both(posting)
    worker = make_market_worker()
    send_here(posting, worker.worker_id, accept_there(posting, worker).assignment_id)  # not yet sent there
    assert missing_places(study, "mturk") == {}
    assert sync(study, api) == lost_places.Replaced()
    assert there(posting).max_assignments == 2


def test_a_rejected_place_is_offered_again_once(study: Study, posting: Posting, api: Mturk) -> None:
    work = send_both(posting)
    send_both(posting)
    syncing.sync_study(study=study, platform=api)
    reject(posting, work, api)
    assert sync(study, api) == lost_places.Replaced(released=1, added=1)
    assert sync(study, api) == lost_places.Replaced()
    work.refresh_from_db()
    posting.refresh_from_db()
    assert (work.state, posting.wanted, there(posting).max_assignments) == ("released", 3, 3)
    replacement = send_both(posting)
    assert sync(study, api) == lost_places.Replaced()
    hit = replacement.hit
    hit.refresh_from_db()
    assert (hit.wanted, hit.n_live, hit.n_submitted) == (2, 2, 2)


def test_an_excluded_submission_is_replaced_only_with_its_place_released(
    study: Study, posting: Posting, api: Mturk
) -> None:
    kept, released = send_both(posting), send_both(posting)
    syncing.sync_study(study=study, platform=api)
    rita = make_user("rita")
    review_submission(submission=kept.submission, decision="exclude", note="", user=rita)
    review_submission(submission=released.submission, decision="exclude", note="", user=rita, release=True)
    assert [each.external_id for each in lost(study, "mturk")] == [released.platform_assignment_id]
    assert sync(study, api).added == 1


def test_what_only_the_platform_has_is_lost_when_it_was_approved(study: Study, posting: Posting, api: Mturk) -> None:
    send_there(accept_there(posting, make_market_worker()))
    assert sync(study, api) == lost_places.Replaced()  # undecided: the answer may still arrive
    outside = posting.outside.get()
    deciding_on_platform.approve(outside=outside, platform=api, actor="test")
    assert sync(study, api).added == 1


def test_an_answer_of_another_worker_frees_its_place_once_the_platform_has_decided(
    study: Study, posting: Posting, api: Mturk
) -> None:
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    stranger = send_here(posting, "ASTRANGER", accepted.assignment_id)
    send_there(accepted)
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.approve(outside=posting.outside.get(), platform=api, actor="test")
    assert sync(study, api) == lost_places.Replaced(released=1, added=1)
    stranger.refresh_from_db()
    assert stranger.state == "released"


def test_a_hit_of_nine_gets_a_further_posting_and_one_of_ten_grows(api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=9)
    posting = study.postings.get()
    Posting.objects.filter(pk=posting.pk).update(wanted=9, offered=9)
    study.hits.update(wanted=11)
    assert sync(study, api) == lost_places.Replaced(planned=1)
    sizes = study.postings.order_by("part").values_list("part", "wanted", "state")
    assert list(sizes) == [(0, 9, "open"), (1, 2, "open")]
    assert changes_of(api).may_hold(Posting(wanted=10), 400)
    assert not changes_of(api).may_hold(Posting(wanted=9), 10)
    assert changes_of(api).may_hold(Posting(wanted=4), 9)


def test_more_ratings_fill_postings_up_to_nine(study: Study, posting: Posting, api: Mturk) -> None:
    adding_ratings.add_ratings(study=study, ratings=9, actor="test")
    assert sync(study, api) == lost_places.Replaced(added=7)
    assert there(posting).max_assignments == 9
    adding_ratings.add_ratings(study=study, ratings=30, actor="test")
    assert sync(study, api) == lost_places.Replaced(planned=3)  # 21 more: three of seven, at the low fee
    assert sorted(each.wanted or 0 for each in study.postings.all()) == [7, 7, 7, 9]


def test_nothing_is_offered_again_after_the_end_or_while_paused(study: Study, posting: Posting, api: Mturk) -> None:
    work = send_both(posting)
    syncing.sync_study(study=study, platform=api)
    reject(posting, work, api)
    Study.objects.filter(pk=study.pk).update(status="paused")
    assert sync(study, api) == lost_places.Replaced(released=1)
    Study.objects.filter(pk=study.pk).update(status="live")
    changing_offers.end_postings(study=study, platform=api, actor="test")
    assert sync(study, api) == lost_places.Replaced()
    assert sum(missing_places(study, "mturk").values()) == 2  # shown to people: they may offer it longer
    assert there(posting).max_assignments == 2


def test_returned_and_abandoned_places_stay_with_the_platform(study: Study, posting: Posting, api: Mturk) -> None:
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    assert posting.hit is not None
    work = Assignment.objects.create(
        hit=posting.hit,
        participant=send_both(posting).participant,
        posting=posting,
        platform_assignment_id=accepted.assignment_id,
        state="abandoned",
        slot=1,
        ordinal=9,
        attempt=2,
        seed=1,
        order={},
        accepted_at=timezone.now() - timedelta(hours=2),
        expires_at=timezone.now() - timedelta(hours=1),
    )
    assert work.state == "abandoned"
    assert sync(study, api) == lost_places.Replaced()


def test_a_lost_answer_adds_the_place_only_once(study: Study, posting: Posting, api: Mturk, monkeypatch: Any) -> None:
    """The platform did it, but the answer never arrived. The same token does nothing a second time."""
    from annotation.platforms.calls import PlatformTrouble

    whole = Mturk.call

    def loses(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        answer = whole(self, operation, **params)
        if operation == "create_additional_assignments_for_hit":
            raise PlatformTrouble("The connection was lost.", again=True)
        return answer

    study.hits.update(wanted=3)
    with monkeypatch.context() as patched, pytest.raises(PlatformTrouble):
        patched.setattr(Mturk, "call", loses)
        lost_places.replace_lost(study=study, platform=api)
    assert lost_places.replace_lost(study=study, platform=api).added == 1
    assert there(posting).max_assignments == 3


# --- a rejection that is undone ---


def rejected_and_replaced(study: Study, posting: Posting, api: Mturk) -> Assignment:
    """Two submissions, one of them rejected, whose place the platform offers again."""
    work = send_both(posting)
    send_both(posting)
    syncing.sync_study(study=study, platform=api)
    reject(posting, work, api)
    sync(study, api)
    return work


def undo(posting: Posting, work: Assignment, api: Mturk) -> None:
    outside = posting.outside.get(external_id=work.platform_assignment_id)
    deciding_on_platform.approve(outside=outside, platform=api, actor="test")


def counts(work: Assignment) -> tuple[int, int, int]:
    hit = work.hit
    hit.refresh_from_db()
    return hit.wanted, hit.n_live, hit.n_submitted


def test_a_rejection_that_is_undone_gives_the_place_back_and_no_further_one_is_sold(
    study: Study, posting: Posting, api: Mturk
) -> None:
    work = rejected_and_replaced(study, posting, api)
    assert counts(work) == (2, 1, 1)
    undo(posting, work, api)
    work.refresh_from_db()
    assert (work.state, counts(work)) == ("submitted", (2, 2, 2))
    posting.refresh_from_db()
    assert posting.state == "expired", "the place that was offered for it is withdrawn"
    with pytest.raises(Refusal):
        accept_there(posting, make_market_worker())
    assert sync(study, api) == lost_places.Replaced()
    assert missing_places(study, "mturk") == {}


def test_a_rejection_that_is_undone_before_a_sync_offers_nothing_again(
    study: Study, posting: Posting, api: Mturk
) -> None:
    work = send_both(posting)
    send_both(posting)
    syncing.sync_study(study=study, platform=api)
    reject(posting, work, api)
    undo(posting, work, api)
    assert sync(study, api) == lost_places.Replaced()
    assert (counts(work), there(posting).max_assignments) == ((2, 2, 2), 2)


def test_where_somebody_else_has_filled_the_place_the_counts_stay(study: Study, posting: Posting, api: Mturk) -> None:
    work = rejected_and_replaced(study, posting, api)
    send_both(posting)
    sync(study, api)
    undo(posting, work, api)
    work.refresh_from_db()
    assert (work.state, counts(work)) == ("released", (2, 2, 2))
    assert sync(study, api) == lost_places.Replaced()


def test_excluded_work_gets_no_place_back(study: Study, posting: Posting, api: Mturk) -> None:
    work = rejected_and_replaced(study, posting, api)
    review_submission(submission=work.submission, decision="exclude", note="", user=make_user("rita"))
    undo(posting, work, api)
    work.refresh_from_db()
    assert (work.state, counts(work)) == ("released", (2, 1, 1))
