"""Simulated workers walk the whole way through the real pages, and their data are marked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import (
    Assignment,
    Draft,
    Flag,
    Output,
    Participant,
    QuestionnaireReply,
    Rating,
    Step,
    Study,
    Submission,
    TriedPage,
)
from annotation.task_types.registry import all_types
from annotation.task_types.simulation import SimulatedWorker
from annotation.work.bots import Bot, BotError, Browser, Mix, TurnedAway, simulate_workers
from annotation.work.direct_bots import can_answer_directly, simulate_directly
from tests.annotation.quality_helpers import GOLD, MAIN
from tests.annotation.questionnaire_helpers import COUNT, REMARK, asking_study
from tests.annotation.training_helpers import TRAINING, training_study
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)


def test_bots_finish_a_study_and_are_marked(live_server: Any) -> None:
    study = make_study(items=3, ratings_per_item=4, hits_per_worker=None)
    tally = simulate_workers(study=study, base_url=live_server.url, workers=4, mix=Mix(), seed=1, at_once=4)
    assert tally.problems == []
    assert tally.submissions == 12
    assert set(study.hits.values_list("n_live", "n_submitted")) == {(4, 4)}
    assert set(Participant.objects.values_list("synthetic", "worker__synthetic")) == {(True, True)}
    assert Rating.objects.filter(question="diversity").count() == 12
    assert Rating.objects.filter(question="diversity", seconds__gt=0).count() == 12


def stored_work(study: Study) -> dict[str, Any]:
    """What simulated workers left, without what is random or measured: ids, seeds, codes, order and times."""
    of_study = {"participant__study": study}
    assignments = Assignment.objects.filter(**of_study).order_by("participant__worker__pk", "hit__position")
    ratings = Rating.objects.filter(**of_study).order_by("participant", "item__external_id", "question", "target")
    steps = Step.objects.filter(assignment__participant__study=study)
    return {
        "participants": list(study.participants.order_by("pk").values_list("synthetic", "profile", "arm__position")),
        "assignments": list(assignments.values_list("hit__position", "state", "attempt", "extra")),
        "hits": list(study.hits.order_by("position").values_list("position", "n_live", "n_submitted")),
        "ratings": list(
            ratings.values_list("participant__profile", "item__external_id", "question", "target", "value", "seconds")
        ),
        "steps": sorted(steps.values_list("number", "name")),
        "flags": Flag.objects.filter(submission__study=study).count(),
        "drafts": Draft.objects.filter(assignment__participant__study=study).count(),
        "outputs": Output.objects.filter(study=study).count(),
    }


def test_workers_who_answer_without_pages_store_what_pages_store(live_server: Any) -> None:
    """The same seed gives the same workers, who give the same answers. One at a time, so that nobody is faster."""
    study = make_study(slug="same", items=4, ratings_per_item=2, hits_per_worker=None)
    options: dict[str, Any] = {"workers": 2, "mix": Mix(), "seed": 3, "at_once": 1}
    assert can_answer_directly(study)
    simulate_directly(study=study, **options)
    directly = stored_work(study)
    Study.objects.filter(pk=study.pk).update(slug="other")
    paged = make_study(slug="same", items=4, ratings_per_item=2, hits_per_worker=None)
    assert simulate_workers(study=paged, base_url=live_server.url, **options).problems == []
    assert stored_work(paged) == directly
    assert len(directly["assignments"]) == 8


def test_studies_with_questions_around_the_tasks_or_a_training_need_pages() -> None:
    assert not can_answer_directly(asking_study(after=[REMARK]))
    assert not can_answer_directly(training_study())


def walk(study: Study, live_server: Any, name: str = "bot", **kwargs: Any) -> Bot:
    bot = Bot(study, SimulatedWorker.named(name, "careful"), Browser(live_server.url), done=lambda: None)
    bot.walk(**kwargs)
    return bot


def test_a_bot_agrees_on_the_start_page_and_reads_its_completion_code(live_server: Any) -> None:
    study = make_study(items=2, consent="We publish your answers.", access=Study.Access.INVITED)
    bot = walk(study, live_server)
    participant = Participant.objects.get()
    assert participant.consented_at
    assert (participant.worker.platform, participant.worker.platform_id) == ("simulated", f"{study.slug}/bot")
    assert bot.code == participant.completion_code


def test_a_bot_that_comes_back_continues_where_it_was(live_server: Any) -> None:
    study = make_study(items=3, hits_per_worker=None)
    walk(study, live_server, most=1)
    walk(study, live_server)
    assert Participant.objects.count() == 1
    assert Submission.objects.count() == 3


def test_the_server_gives_bots_their_arms(live_server: Any) -> None:
    study = make_study(arms=[{"name": "a"}, {"name": "b"}], ratings_per_item=6)
    assert simulate_workers(study=study, base_url=live_server.url, workers=6, mix=Mix(), seed=1).problems == []
    assert Counter(Participant.objects.values_list("arm__name", flat=True)) == {"a": 3, "b": 3}
    given = Assignment.objects.values_list("participant__arm__name", "hit__arm__name").distinct()
    assert set(given) == {("a", "a"), ("b", "b")}


@pytest.mark.parametrize("task_type", sorted(all_types()))
def test_bots_do_every_task_type(task_type: str, live_server: Any) -> None:
    study = make_study(task_type=task_type, items=2, ratings_per_item=2, hits_per_worker=None)
    tally = simulate_workers(study=study, base_url=live_server.url, workers=2, mix=Mix(1, 1, 0), seed=3)
    assert tally.problems == []
    assert tally.submissions == sum(hit.wanted for hit in study.hits.all())


def test_a_careful_bot_follows_the_items_and_answers_the_same_about_the_same(live_server: Any) -> None:
    """One state for one worker: two studies with the same items get the same answers from it."""
    first, second = (make_study(items=3, ratings_per_item=1, hits_per_worker=None) for _ in range(2))
    for study in (first, second):
        walk(study, live_server)
    answers = [
        dict(Rating.objects.filter(study=study, question="diversity").values_list("item__external_id", "value"))
        for study in (first, second)
    ]
    assert len(answers[0]) == 3
    assert answers[0] == answers[1]


def test_bots_beyond_those_who_are_needed_are_turned_away(live_server: Any) -> None:
    study = make_study(items=1, ratings_per_item=2)
    tally = simulate_workers(study=study, base_url=live_server.url, workers=4, mix=Mix(), seed=1, at_once=1)
    assert (tally.workers, tally.submissions, tally.turned_away, tally.problems) == (2, 2, 2, [])
    with pytest.raises(TurnedAway):
        walk(study, live_server, "late")


def test_a_bot_that_is_refused_a_page_says_so(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.work.bots.bot_token", lambda *args, **kwargs: "forged")
    with pytest.raises(BotError, match="answered 404"):
        walk(make_study(), live_server)


def test_bots_stop_at_the_limit_for_one_worker(live_server: Any) -> None:
    study = make_study(items=5, ratings_per_item=2, hits_per_worker=2)
    tally = simulate_workers(study=study, base_url=live_server.url, workers=1, mix=Mix(), seed=1)
    assert (tally.workers, tally.submissions, tally.problems) == (1, 2, [])


def test_the_same_seed_gives_the_same_profiles(live_server: Any) -> None:
    first, second = (make_study(items=1, ratings_per_item=5, slug=slug) for slug in ("one", "two"))
    for study in (first, second, second):
        simulate_workers(study=study, base_url=live_server.url, workers=5, mix=Mix(1, 1, 1), seed=7)
    # A second run with the same seed is the same five workers, who have done all that they can.
    assert Submission.objects.filter(study=second).count() == 5
    assert Participant.objects.filter(study=second).count() == 5


def test_an_interrupt_ends_the_simulation_at_once(live_server: Any) -> None:
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


def test_a_server_that_does_not_answer_is_reported(live_server: Any) -> None:
    study = make_study(items=1, ratings_per_item=1)
    with pytest.raises(CommandError, match="could not continue"):
        call_command("simulate", study.slug, "--base-url", "http://127.0.0.1:9", "--workers", "1")


@pytest.mark.parametrize("hits_per_worker", [None, 2])
def test_the_command_brings_as_many_workers_as_finish_the_study(
    live_server: Any, hits_per_worker: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study(
        items=4, ratings_per_item=2, hits_per_worker=hits_per_worker, arms=[{"name": "a"}, {"name": "b"}]
    )
    call_command("simulate", study.slug, "--base-url", live_server.url)
    assert set(study.hits.values_list("n_submitted", flat=True)) == {2}
    assert "sent 16 submissions" in capsys.readouterr().out


def test_more_workers_come_until_no_place_is_left(
    live_server: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker can give half of the ratings only, so a second one comes."""
    study = make_study(items=2, ratings_per_item=2, hits_per_worker=2)
    monkeypatch.setattr("annotation.management.commands.simulate.workers_needed", lambda study: 1)
    call_command("simulate", study.slug, "--base-url", live_server.url)
    assert set(study.hits.values_list("n_submitted", flat=True)) == {2}
    assert "2 simulated workers sent 4 submissions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no study"),
        (["demo-draft"], "is “draft”"),
        (["demo-live", "--careful", "-1"], "must not be negative"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], message: str) -> None:
    make_study(slug="demo-draft", live=False)
    make_study(slug="demo-live")
    with pytest.raises(CommandError, match=message):
        call_command("simulate", *arguments)


def test_bots_answer_what_is_asked_around_the_tasks(live_server: Any) -> None:
    study = asking_study(
        study={"items": 2, "ratings_per_item": 6, "hits_per_worker": 1},
        before=["demographics"],
        comprehension=[COUNT],
        after=[REMARK],
        screen_out={"age": ["Under 18"]},
    )
    tally = simulate_workers(study=study, base_url=live_server.url, workers=12, mix=Mix(), seed=1, at_once=2)
    assert tally.problems == []
    turned_away = Participant.objects.exclude(turned_away=None).count()
    assert (tally.turned_away, tally.submissions) == (turned_away, 12 - turned_away)
    replies = Counter(QuestionnaireReply.objects.values_list("questionnaire", flat=True))
    assert replies["before"] == 12
    assert replies["after"] == tally.submissions
    ages = {reply.answers["age"] for reply in QuestionnaireReply.objects.filter(questionnaire="before")}
    assert len(ages) > 2  # not everybody says the same
    assert not QuestionnaireReply.objects.filter(timing={}).exists()


def test_bots_take_the_training_with_their_character(live_server: Any) -> None:
    rows = (*TRAINING, *MAIN, GOLD)
    study = training_study(rows, values={"hits_per_worker": 1}, quality_control={"gold_mode": "loud"})
    for seed, mix in enumerate((Mix(1, 0, 0), Mix(0, 0, 1))):
        tally = simulate_workers(study=study, base_url=live_server.url, workers=6, mix=mix, seed=seed, at_once=2)
        assert tally.problems == []
    out = Counter(Participant.objects.exclude(turned_away=None).values_list("profile", flat=True))
    assert out["careful"] <= 2
    assert out["careless"] >= 5
    assert TriedPage.objects.filter(training=False, attempt=1).exists()
    assert not TriedPage.objects.filter(training=True, timing={}).exists()
