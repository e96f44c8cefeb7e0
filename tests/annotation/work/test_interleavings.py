"""Random mixtures of all that can happen to a study's work at once, with the invariants checked after each."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connections
from django.db.models import F
from django.utils import timezone

from annotation.models import Assignment, Draft, Hit, Rating, Step, Study, Submission
from annotation.studies import storing
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.answers import submit_step
from annotation.work.drafts import save_draft
from annotation.work.ending import reclaim_expired, return_assignment
from annotation.work.excluding import review_submission
from tests.factories import make_participant, make_researcher, make_study

WORKERS = 8
ANSWER = {"diversity": "3.5"}
ONE_STEP = {"write_first": False, "rate_first": False}


class Crowd:
    """Workers who take, send, repeat, give back and dawdle; one clock-keeper; one researcher. What they were told."""

    def __init__(self, *, seed: int, items: int, ratings: int, hits_per_worker: int | None) -> None:
        self.seed = seed
        self.study = make_study(
            items=items, ratings_per_item=ratings, hits_per_worker=hits_per_worker, seed=seed, config=ONE_STEP
        )
        self.user = make_researcher("reviewer")
        self.workers = [make_participant(study=self.study).pk for _ in range(WORKERS)]
        self.acknowledged: set[int] = set()
        self.kept_aside: set[int] = set()

    def act(self, rng: random.Random, worker: int) -> None:
        acts: list[Callable[[random.Random, int], None]] = [self.take, self.send, self.give_back, self.draft]
        acts += [self.dawdle, self.reclaim, self.manage, self.review]
        rng.choices(acts, weights=[6, 9, 1, 1, 2, 1, 0.4, 1])[0](rng, worker)

    def take(self, rng: random.Random, worker: int) -> None:
        with suppress(NothingLeft):
            accept_next(participant_id=worker)

    def send(self, rng: random.Random, worker: int) -> None:
        """Any of their pages that is still open in some tab, whatever has happened to its hit."""
        mine = Assignment.objects.filter(participant_id=worker).order_by("-pk").values_list("pk", flat=True)
        if not (had := list(mine[:4])):
            return
        chosen = had[0] if rng.random() < 0.7 else rng.choice(had)
        outcome = submit_step(assignment_id=chosen, participant_id=worker, number=0, data=ANSWER, timing={})
        assert outcome.kind in ("submitted", "repeated", "late", "ended"), outcome
        if outcome.kind in ("submitted", "repeated"):
            self.acknowledged.add(chosen)
        elif outcome.kind == "late":
            self.kept_aside.add(chosen)

    def give_back(self, rng: random.Random, worker: int) -> None:
        for pk in Assignment.objects.filter(participant_id=worker).order_by("-pk").values_list("pk", flat=True)[:1]:
            return_assignment(assignment_id=pk, participant_id=worker)

    def draft(self, rng: random.Random, worker: int) -> None:
        for pk in Assignment.objects.filter(participant_id=worker).values_list("pk", flat=True)[:3]:
            save_draft(assignment_id=pk, participant_id=worker, number=0, data={"diversity": ""})
            if Assignment.objects.get(pk=pk).state == "accepted":
                self.kept_aside.discard(pk)  # they are on it again and changed it

    def dawdle(self, rng: random.Random, worker: int) -> None:
        past = timezone.now() - timedelta(seconds=1)
        Assignment.objects.filter(participant_id=worker, state="accepted").update(expires_at=past)

    def reclaim(self, rng: random.Random, worker: int) -> None:
        reclaim_expired(study_id=rng.choice([None, self.study.pk]))

    def manage(self, rng: random.Random, worker: int) -> None:
        choice = rng.randrange(3)
        if choice == 0:
            storing.pause_study(study=self.study, actor="test")
        if choice < 2:
            storing.resume_study(study=self.study, actor="test")
        else:
            wanted = Study.objects.get(pk=self.study.pk).ratings_per_item
            with suppress(storing.Frozen):  # somebody raised it further meanwhile
                storing.change_study(study=self.study, values={"ratings_per_item": min(wanted + 1, 8)}, actor="test")

    def review(self, rng: random.Random, worker: int) -> None:
        for submission in Submission.objects.filter(participant=worker).order_by("?")[:1]:
            decision = rng.choice(["exclude", "include"])
            review_submission(submission=submission, decision=decision, note="", user=self.user, release=True)

    def check(self) -> None:
        study = Study.objects.get(pk=self.study.pk)
        hits = list(Hit.objects.filter(study=study))
        assignments = list(Assignment.objects.filter(hit__study=study))
        live = [each for each in assignments if each.state in ("accepted", "submitted")]
        kept = [each for each in assignments if each.state in ("accepted", "submitted", "released")]
        for hit in hits:
            states = Counter(each.state for each in assignments if each.hit_id == hit.pk)
            assert hit.n_submitted == states["submitted"]
            assert hit.n_live == states["accepted"] + states["submitted"]
        assert all(hit.wanted == study.ratings_per_item and hit.n_submitted <= hit.n_live <= hit.wanted for hit in hits)
        assert unique((each.hit_id, each.slot) for each in live)
        assert unique((each.hit_id, each.participant_id) for each in kept)
        assert unique((each.participant_id, each.ordinal) for each in kept)
        assert unique(each.participant_id for each in live if each.state == "accepted")
        if study.hits_per_worker is not None:
            assert max(Counter(each.participant_id for each in kept).values(), default=0) <= study.hits_per_worker
        submitted = {each.pk for each in assignments if each.state in ("submitted", "released")}
        self._check_answers(study, submitted)

    def _check_answers(self, study: Study, submitted: set[int]) -> None:
        stored = Submission.objects.filter(study=study)
        assert sorted(stored.values_list("assignment_id", flat=True)) == sorted(submitted)
        assert (
            set(Step.objects.filter(assignment__hit__study=study).values_list("assignment_id", flat=True)) == submitted
        )
        ratings = Rating.objects.filter(study=study).values_list("submission__assignment_id", "value")
        assert sorted(ratings) == [(pk, 3.5) for pk in sorted(submitted)]
        assert self.acknowledged <= submitted

    def check_late(self) -> None:
        late = Draft.objects.filter(late=True).values_list("assignment_id", "answers")
        kept = {pk for pk, answers in late if answers == ANSWER}
        submitted = set(Submission.objects.values_list("assignment_id", flat=True))
        assert self.kept_aside - submitted <= kept

    def finish(self) -> None:
        """Everybody continues while there is work: in the end, nothing is missing and nothing is there twice."""
        storing.resume_study(study=self.study, actor="test")
        for _ in range(2):
            for worker in self.workers:
                while self._one_more(worker):
                    pass
            reclaim_expired(study_id=self.study.pk)
        self.check()
        if self.study.hits_per_worker is None:
            for hit in Hit.objects.filter(study=self.study, n_submitted__lt=F("wanted")):
                had = Assignment.objects.filter(hit=hit, state__in=["submitted", "returned", "released"])
                assert set(had.values_list("participant_id", flat=True)) == set(self.workers)

    def _one_more(self, worker: int) -> bool:
        try:
            pk = accept_next(participant_id=worker).id
        except NothingLeft:
            return False
        outcome = submit_step(assignment_id=pk, participant_id=worker, number=0, data=ANSWER, timing={})
        self.acknowledged.add(pk)
        return outcome.kind == "submitted"


def unique(found: Iterable[Hashable]) -> bool:
    seen = list(found)
    return len(set(seen)) == len(seen)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_requests_keeps_the_rules(seed: int) -> None:
    rng = random.Random(seed)
    crowd = Crowd(seed=seed, items=3, ratings=2, hits_per_worker=rng.choice([None, 1, 2]))
    for number in range(150):
        crowd.act(rng, rng.choice(crowd.workers))
        if number % 10 == 0:
            crowd.check()
            crowd.check_late()
    crowd.finish()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(2))
def test_any_mix_of_concurrent_requests_keeps_the_rules(seed: int) -> None:
    crowd = Crowd(seed=seed, items=3, ratings=2, hits_per_worker=None)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        rng = random.Random(seed * 1000 + number)
        try:
            for _ in range(40):
                # Two threads for each worker: two tabs.
                crowd.act(rng, crowd.workers[number // 2])
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2 * 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    crowd.check()
    crowd.finish()
