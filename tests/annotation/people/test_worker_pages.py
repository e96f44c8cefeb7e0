"""The page of one worker, excluding them in one step after seeing the effect, and going from flag to flag."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Flag, Participant, Review, Study, Submission
from annotation.people.worker_figures import agreement_with_others, exclusion_effect
from annotation.review.submission_lists import Filter, chosen, place_among
from annotation.work.allocation import NothingLeft, accept_next, revive_late
from annotation.work.answers import submit_step
from annotation.work.ending import reclaim_expired
from annotation.work.excluding import exclude_worker
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
SHORT = {"write_first": False, "rate_first": False}


def page_of(client: Client, participant: Participant, name: str = "console_worker", **query: str) -> str:
    response = client.get(reverse(name, args=[participant.study.slug, participant.pseudonym]), query)
    assert response.status_code == 200
    return str(response.content.decode())


def rated(study: Study, values: dict[str, float], *, participant: Participant | None = None) -> Participant:
    """A participant who rated items by these values, by the item's id, one hit each."""
    participant = participant or make_participant(study=study)
    for _ in values:
        assignment = make_assignment(participant=participant)
        item = assignment.hit.items.get()
        outcome = submit_step(
            assignment_id=assignment.pk,
            participant_id=participant.pk,
            number=0,
            data={"diversity": f"{values[item.external_id]:g}"},
            timing={},
        )
        assert outcome.kind == "submitted"
    return participant


# --- the worker's page ---


def test_the_page_shows_all_that_a_worker_sent_with_times_and_flags() -> None:
    study = make_study(items=3, ratings_per_item=2, hits_per_worker=None, reward="0.18")
    worker = make_participant(study=study)
    sent = [make_submission(participant=worker, seed=seed) for seed in (1, 2)]
    Flag.objects.create(submission=sent[0], reason="too_fast", detail="6 steps in 4.8 seconds.")
    make_submission(study=study, seed=3)
    page = page_of(as_role("editor", study), worker)
    for submission in sent:
        assert reverse("console_submission", args=[study.slug, submission.pk]) in page
    assert "2 submissions, newest first" in page
    assert "too fast" in page
    assert worker.completion_code in page
    viewer = page_of(as_role("viewer", study), worker)
    assert worker.completion_code not in viewer
    assert "Exclude this worker" not in viewer


def test_agreement_is_with_the_mean_of_the_others_on_the_same_items() -> None:
    """By hand: others' means are 2, 3 and 5; the worker's ratings 1, 3 and 4 lie 2/3 below them, r = 13/14."""
    study = make_study(items=3, ratings_per_item=9, hits_per_worker=None, config=SHORT)
    rated(study, {"s0": 1, "s1": 3, "s2": 5})
    rated(study, {"s0": 3, "s1": 3, "s2": 5})
    worker = rated(study, {"s0": 1, "s1": 3, "s2": 4})
    [found] = agreement_with_others(study, worker)
    assert (found.ratings, found.compared, found.numeric) == (3, 3, True)
    assert found.bias == pytest.approx(-2 / 3)
    assert found.agreement == pytest.approx(13 / 14)
    page = page_of(as_role("viewer", study), worker)
    assert "0.93" in page
    assert "−0.67" in page


def test_what_was_left_out_of_others_does_not_enter_but_an_excluded_worker_is_still_compared() -> None:
    study = make_study(items=3, ratings_per_item=9, hits_per_worker=None, config=SHORT)
    user = make_user("rev")
    rated(study, {"s0": 2, "s1": 3, "s2": 5})
    noise = rated(study, {"s0": 5, "s1": 1, "s2": 1})
    worker = rated(study, {"s0": 2, "s1": 3, "s2": 5})
    assert agreement_with_others(study, worker)[0].agreement != pytest.approx(1)
    for participant in (noise, worker):
        exclude_worker(participant=participant, note="", user=user)
    assert agreement_with_others(study, worker)[0].agreement == pytest.approx(1)


def test_a_worker_without_ratings_has_a_page_too() -> None:
    study = make_study(items=1)
    page = page_of(as_role("viewer", study), make_participant(study=study))
    assert "Nobody else has rated the same items yet" in page


# --- excluding ---


def test_the_effect_is_shown_before_a_worker_is_excluded() -> None:
    study = make_study(items=3, ratings_per_item=1, hits_per_worker=None, config=SHORT, reward="0.18")
    worker = make_participant(study=study)
    for _ in range(2):
        make_submission(participant=worker)
    make_assignment(participant=worker)
    effect = exclusion_effect(worker)
    assert (effect.submissions, effect.ratings, effect.items, effect.places) == (2, 2, 2, 2)
    assert (effect.in_progress, effect.hits_due, f"{effect.due:.2f}") == (True, 2, "0.36")
    page = page_of(as_role("editor", study), worker, "console_exclude_worker")
    assert "will leave out 2 submissions with 2 ratings of 2 items" in page
    assert "gets no more hits" in page
    assert "They can still send the hit that they are working on" in page
    assert "0.36" in page
    assert "Release 2 places" in page
    assert not Review.objects.exists()


@pytest.mark.parametrize("release", [True, False])
def test_everything_of_one_worker_is_excluded_in_one_step(release: bool) -> None:
    study = make_study(items=3, ratings_per_item=1, hits_per_worker=None)
    worker = make_participant(study=study)
    for _ in range(2):
        make_submission(participant=worker)
    other = make_submission(study=study)
    client = as_role("editor", study)
    url = reverse("console_exclude_worker", args=[study.slug, worker.pseudonym])
    answer = client.post(url, {"note": "A script."} | ({"release": "on"} if release else {}), follow=True)
    page = answer.content.decode()
    assert f"{worker.pseudonym} is excluded, with 2 submissions." in page
    assert ("Their places are open to other workers." in page) is release
    assert "Include this worker again" in page
    assert list(Review.objects.values_list("decision", "note")) == [("exclude", "A script.")] * 2
    assert not other.reviews.exists()
    assert sum(hit.n_submitted for hit in study.hits.all()) == (1 if release else 3)


def test_nothing_happens_without_a_reason() -> None:
    study = make_study(items=1)
    worker = make_submission(study=study).participant
    url = reverse("console_exclude_worker", args=[study.slug, worker.pseudonym])
    client = as_role("editor", study)
    for note, says in (("", "Say why"), ("x" * 501, "at most 500")):
        response = client.post(url, {"note": note})
        assert response.status_code == 422
        assert says in response.content.decode()
    assert not Review.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("viewer", 404), ("outsider", 404), ("editor", 302)])
@pytest.mark.parametrize("name", ["console_exclude_worker", "console_include_worker"])
def test_only_editors_exclude_and_include_a_worker(name: str, role: str, status: int) -> None:
    study = make_study(items=1)
    worker = make_submission(study=study).participant
    url = reverse(name, args=[study.slug, worker.pseudonym])
    client = as_role(role, study)
    assert client.post(url, {"note": "A script."}).status_code == status
    assert Review.objects.exists() is (status == 302 and name == "console_exclude_worker")
    assert as_role("superuser", study).post(url.replace(worker.pseudonym, "w-nobody")).status_code == 404


def test_an_excluded_worker_gets_no_more_hits_until_included_again() -> None:
    study = make_study(items=3, hits_per_worker=None)
    worker = make_participant(study=study)
    make_submission(participant=worker)
    client = as_role("editor", study)
    client.post(reverse("console_exclude_worker", args=[study.slug, worker.pseudonym]), {"note": "A script."})
    with pytest.raises(NothingLeft, match="excluded"):
        accept_next(participant_id=worker.pk)
    client.post(reverse("console_include_worker", args=[study.slug, worker.pseudonym]))
    assert accept_next(participant_id=worker.pk).new
    actions = list(AuditEntry.objects.filter(detail__worker=worker.pseudonym).values_list("action", flat=True))
    assert actions == ["include worker", "exclude worker"]


# --- from flag to flag ---


def flagged_study() -> tuple[Study, list[Submission]]:
    """Five submissions, oldest first; the first, third and fifth are flagged."""
    study = make_study(items=1, ratings_per_item=9, config=SHORT)
    sent = [make_submission(study=study) for _ in range(5)]
    for submission in sent[::2]:
        Flag.objects.create(submission=submission, reason="too_short", detail="“ok” has 1 word.")
    return study, sent


def test_previous_and_next_lead_through_the_flagged_ones_newest_first() -> None:
    study, sent = flagged_study()
    first, third, fifth = (submission.pk for submission in sent[::2])
    flagged = chosen(study, Filter(show="flagged"))
    places = {each.pk: place_among(flagged, each) for each in sent}
    assert (places[fifth].before, places[fifth].after, places[fifth].number) == (None, third, 1)
    assert (places[third].before, places[third].after, places[third].number) == (fifth, first, 2)
    assert (places[first].before, places[first].after, places[first].number) == (third, None, 3)
    between = places[sent[1].pk]
    assert (between.before, between.after, between.number, between.total) == (third, first, None, 3)


def test_the_page_of_a_submission_links_to_the_flagged_ones_beside_it() -> None:
    study, sent = flagged_study()
    url = reverse("console_submission", args=[study.slug, sent[2].pk])
    page = as_role("viewer", study).get(url).content.decode()
    assert "Flagged 2 of 3" in page
    assert f'data-key="j ArrowRight" href="{reverse("console_submission", args=[study.slug, sent[0].pk])}"' in page
    assert f'data-key="k ArrowLeft" href="{reverse("console_submission", args=[study.slug, sent[4].pk])}"' in page


def test_a_worker_page_needs_few_queries_however_many_submissions(django_assert_max_num_queries: Any) -> None:
    study = make_study(items=6, ratings_per_item=2, hits_per_worker=None, config=SHORT)
    worker = make_participant(study=study)
    for _ in range(5):
        make_submission(participant=worker)
    client = as_role("editor", study)
    with django_assert_max_num_queries(35):
        page_of(client, worker)


def test_a_worker_who_was_excluded_while_working_sends_what_is_left_out() -> None:
    study = make_study(items=2, hits_per_worker=None, config=SHORT)
    worker = make_participant(study=study)
    make_assignment(participant=worker)
    exclude_worker(participant=worker, note="A script.", user=make_user("rev"))
    submission = make_submission(participant=worker)
    review = Review.objects.get(submission=submission)
    assert (review.decision, review.note, review.user) == ("exclude", "The worker was already excluded.", None)
    page = as_role("editor", study).get(reverse("console_submission", args=[study.slug, submission.pk]))
    assert "no user" in page.content.decode()


def test_a_task_that_timed_out_is_not_taken_up_by_an_excluded_worker() -> None:
    study = make_study(items=1)
    assignment = make_assignment(study=study)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    reclaim_expired()
    exclude_worker(participant=assignment.participant, note="", user=make_user("rev"))
    assert not revive_late(assignment_id=assignment.pk, participant_id=assignment.participant_id)
