"""Simulated workers use the real pages, and their data are marked."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from annotation.bots import Mix, simulate_workers
from annotation.models import Participant, Rating, Submission
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)


def test_bots_finish_a_study_and_are_marked(live_server) -> None:  # type: ignore[no-untyped-def]
    study = make_study(items=3, ratings_per_item=4, hits_per_worker=None)
    tally = simulate_workers(study=study, base_url=live_server.url, workers=4, mix=Mix(), seed=1, at_once=4)
    assert tally.problems == []
    assert tally.submissions == 12
    assert set(study.hits.values_list("n_live", "n_submitted")) == {(4, 4)}
    assert set(Participant.objects.values_list("synthetic", "worker__synthetic")) == {(True, True)}
    assert Rating.objects.filter(question="diversity").count() == 12
    assert Rating.objects.filter(question="diversity", seconds__gt=0).count() == 12


def test_bots_stop_at_the_study_s_limit_for_a_worker(live_server) -> None:  # type: ignore[no-untyped-def]
    study = make_study(items=5, ratings_per_item=2, hits_per_worker=2)
    tally = simulate_workers(study=study, base_url=live_server.url, workers=1, mix=Mix(), seed=1)
    assert (tally.workers, tally.submissions, tally.problems) == (1, 2, [])


def test_the_same_seed_gives_the_same_profiles(live_server) -> None:  # type: ignore[no-untyped-def]
    first, second = (make_study(items=1, ratings_per_item=5, slug=slug) for slug in ("one", "two"))
    for study in (first, second, second):
        simulate_workers(study=study, base_url=live_server.url, workers=5, mix=Mix(1, 1, 1), seed=7)
    # A second run with the same seed is the same five workers, who have done all they may.
    assert Submission.objects.filter(study=second).count() == 5
    assert Participant.objects.filter(study=second).count() == 5


def test_an_interrupt_ends_the_simulation_at_once(live_server) -> None:  # type: ignore[no-untyped-def]
    study = make_study(items=30, ratings_per_item=6, hits_per_worker=None)
    sent = []

    def interrupt() -> None:
        sent.append(1)
        if len(sent) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_workers(
            study=study, base_url=live_server.url, workers=6, mix=Mix(), seed=1, at_once=3, progress=interrupt
        )
    # What the three who were at it had begun, of 180.
    assert 3 <= Submission.objects.count() <= 10


def test_a_server_that_is_not_there_is_told(live_server) -> None:  # type: ignore[no-untyped-def]
    study = make_study(items=1, ratings_per_item=1)
    with pytest.raises(CommandError, match="could not go on"):
        call_command("simulate", study.slug, "--base-url", "http://127.0.0.1:9", "--workers", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing"], "no study"), (["demo-draft"], "is “draft”"), (["demo-live", "--careful", "-1"], "shares")],
)
def test_the_command_says_what_is_wrong(arguments: list[str], message: str) -> None:
    make_study(slug="demo-draft", live=False)
    make_study(slug="demo-live")
    with pytest.raises(CommandError, match=message):
        call_command("simulate", *arguments)
