"""A study with a rule ends when every difference that the rule is about is settled, and not before."""

from __future__ import annotations

from smtplib import SMTPException
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from django.conf import LazySettings
from django.core import mail
from django.db.models import Count, F
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Hit, Membership, PlatformJob, Posting, StoppingLook, Study
from annotation.results.stopping_early import due_looks, hold, in_words, look, look_at_due_studies
from annotation.results.tasks import stop_early
from annotation.studies.storing import Frozen, change_study, pause_study
from annotation.task_types.items import ItemData
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.excluding import review_submission
from annotation.work.standing import openings
from tests.annotation.console_helpers import make_user
from tests.annotation.work.test_arms_of_workers import together
from tests.factories import make_assignment, make_participant, make_study
from tests.report_data import add_submission, rated_study

pytestmark = pytest.mark.django_db

LIKERT = {"points": 5, "statements": [{"topic": "quality", "question": "The reply is good."}]}
RULE = {"factor": "system", "criterion": "quality", "smallest": None, "first": 20, "every": 5}


def reply(prompt: int, system: str) -> ItemData:
    columns = {"sample_id": f"p{prompt}-{system}", "context": f"Prompt {prompt}", "text": f"Reply to {prompt}"}
    unused = {"label_name": "", "label_value": "", "columns": list(columns)}
    return ItemData(columns["sample_id"], columns | unused | {"extra": [["system", system]]})


def study_of(apart: float, *, workers: int = 8, systems: tuple[str, ...] = ("A", "B"), **values: Any) -> Study:
    """10 prompts, two systems, and the answers of some of the 16 workers that it wants; B is ahead by ``apart``."""
    random = np.random.default_rng(5)
    ratings: dict[tuple[str, str], float] = {}
    for prompt in range(10):
        for worker in range(workers):
            for system in systems:
                value = 3 + apart * (system == "B") + random.normal() / 2
                ratings[f"p{prompt}-{system}", f"w{worker}"] = float(np.clip(round(value), 1, 5))
    settings: dict[str, Any] = {"config": LIKERT, "ratings_per_item": 16, "stopping": RULE}
    return rated_study(
        [reply(prompt, system) for prompt in range(10) for system in ("A", "B")],
        ratings,
        task_type="likert",
        question="quality",
        scale="quality",
        **(settings | values),
    )


def test_a_clear_difference_ends_the_study_once() -> None:
    study = study_of(1.5)
    assert [stop_early(), stop_early()] == [1, 0]
    study.refresh_from_db()
    assert study.status == Study.Status.CLOSED
    stored = StoppingLook.objects.get(study=study)
    # Half of the planned ratings: the looks at 20, 25, … 50 percent are due.
    assert (stored.number, stored.share, stored.submissions, stored.stopped) == (7, 0.5, 160, True)
    [pair] = stored.differences
    assert {pair["first"], pair["second"]} == {"A", "B"} and pair["settled"] == "different" and pair["p"] < 0.05
    assert AuditEntry.objects.filter(study=study, actor="stopping rule", action="close").count() == 1


def test_without_a_difference_it_goes_on_and_looks_again_after_the_next_step() -> None:
    study = study_of(0.0)
    assert [look_at_due_studies(), len(due_looks())] == [0, 0]
    stored = StoppingLook.objects.get(study=study)
    assert (stored.stopped, stored.differences[0]["settled"], stored.problem) == (False, "", "")
    for worker in range(2):  # 20 of 320 more ratings are 6.25%
        person = make_participant(study=study, name=f"new{worker}")
        for prompt in range(10):
            add_submission(study, person, f"p{prompt}-A", "quality", "quality", {"": 3.0})
    assert [due.number for due in due_looks()] == [8]
    assert look_at_due_studies() == 0 and StoppingLook.objects.filter(study=study).count() == 2


def test_a_difference_too_small_to_matter_ends_it_too() -> None:
    study = study_of(0.0, stopping=RULE | {"smallest": 1.5})
    assert look_at_due_studies() == 1
    [pair] = StoppingLook.objects.get(study=study).differences
    assert pair["settled"] == "alike" and -1.5 < pair["low"] < pair["high"] < 1.5


def test_a_level_without_answers_keeps_it_open_and_the_look_says_so() -> None:
    study = study_of(1.5, systems=("B",))
    assert look_at_due_studies() == 0
    assert StoppingLook.objects.get(study=study).problem == "There are no answers yet on A."


def test_too_few_workers_settle_nothing() -> None:
    study = study_of(2.0, workers=4)
    assert look_at_due_studies() == 0
    [pair] = StoppingLook.objects.get(study=study).differences
    assert (pair["settled"], pair["p"], pair["low"]) == ("", None, None)


def test_before_the_first_look_and_without_a_rule_nobody_looks() -> None:
    study_of(1.5, workers=3)
    study_of(1.5, stopping={})
    study_of(1.5, stopping=RULE | {"factor": "", "criterion": ""})
    assert due_looks() == []


def test_a_paused_study_ends_as_well() -> None:
    study = study_of(1.5)
    pause_study(study=study, actor="test")
    assert look_at_due_studies() == 1


def test_an_error_is_on_record_and_the_next_look_tries_again() -> None:
    study = study_of(1.5)
    with patch("annotation.results.frames.study_data", side_effect=RuntimeError("the disk is full")):
        assert look_at_due_studies() == 0
    stored = StoppingLook.objects.get(study=study)
    assert stored.problem == "An error ended this look: RuntimeError. The next look tries again."
    person = make_participant(study=study, name="new")
    for prompt in range(10):
        for system in "AB":
            add_submission(study, person, f"p{prompt}-{system}", "quality", "quality", {"": 3.0})
    assert look_at_due_studies() == 1


def test_two_processes_that_look_at_once_close_it_once() -> None:
    study_of(1.5)
    [due] = due_looks()
    assert [look(due), look(due)] == [True, False]
    assert StoppingLook.objects.count() == 1


def test_what_was_excluded_does_not_count() -> None:
    """All of one system's answers were excluded, so nothing can be compared."""
    study, user = study_of(1.5), make_user("ann")
    for submission in study.submissions.filter(ratings__item__external_id__endswith="A"):
        review_submission(submission=submission, decision="exclude", note="by mistake", user=user)
    assert look_at_due_studies() == 0


def test_its_offer_on_a_platform_is_ended() -> None:
    study = study_of(1.5)
    Posting.objects.create(study=study, platform="mturk", external_id="G1", url="", state=Posting.State.OPEN)
    assert look_at_due_studies() == 1
    job = PlatformJob.objects.get(study=study)
    assert (job.kind, job.platform, job.actor) == (PlatformJob.Kind.END, "mturk", "stopping rule")


def test_the_owners_get_one_mail_and_another_try_if_it_cannot_be_sent(settings: LazySettings) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    study = study_of(1.5, title="Replies")
    Membership.objects.create(study=study, user=make_user("ann", email="ann@example.org"), role="owner")
    with patch("annotation.review.owner_mail.EmailMessage.send", side_effect=SMTPException("no")):
        assert look_at_due_studies() == 1
    assert not mail.outbox
    look_at_due_studies()
    look_at_due_studies()
    [message] = mail.outbox
    assert (message.subject, message.bcc) == ("Stopped early: Replies", ["ann@example.org"])
    assert "with 50% of the planned submissions" in message.body
    assert "On quality by system, the difference is settled" in message.body


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("values", {"ratings_per_item": 20}),
        ("factors", {"system": {"reference": "A"}}),
        ("stopping", RULE | {"smallest": 2.0}),
    ],
)
def test_what_the_rule_counts_on_is_locked_at_launch(part: str, value: Any) -> None:
    study = study_of(0.0, workers=0)
    with pytest.raises(Frozen, match="Locked at launch"):
        change_study(study=study, actor="test", **{part: value})


# --- levels of which nothing is open any more ---


def three_systems(*, workers: int = 8, **values: Any) -> Study:
    """C is far ahead of A and B, which are alike."""
    random = np.random.default_rng(7)
    ratings: dict[tuple[str, str], float] = {}
    for prompt in range(8):
        for worker in range(workers):
            for system in "ABC":
                value = 2 + 2 * (system == "C") + random.normal() / 2
                ratings[f"p{prompt}-{system}", f"w{worker}"] = float(np.clip(round(value), 1, 5))
    settings: dict[str, Any] = {"config": LIKERT, "ratings_per_item": 16, "hits_per_worker": None}
    settings["stopping"] = RULE
    items = [reply(prompt, system) for prompt in range(8) for system in "ABC"]
    names: dict[str, Any] = {"task_type": "likert", "question": "quality", "scale": "quality"}
    return rated_study(items, ratings, **names, **(settings | values))


def held(study: Study) -> set[str]:
    return set(study.hits.filter(held=True).values_list("items__external_id", flat=True))


def test_nobody_new_gets_hits_of_a_level_that_is_told_from_all_others() -> None:
    study = three_systems()
    assert look_at_due_studies() == 0
    settled = {(pair["first"], pair["second"]): pair["settled"] for pair in study.stopping_looks.get().differences}
    assert {pair for pair, state in settled.items() if state} == {("C", "A"), ("C", "B")}
    assert held(study) == {f"p{prompt}-C" for prompt in range(8)}
    person, had = make_participant(study=study, name="new"), set()
    for _ in range(16):
        assignment = make_assignment(participant=person)
        had.add(assignment.hit.items.get().external_id)
        submit(assignment)
    assert had == {f"p{prompt}-{system}" for prompt in range(8) for system in "AB"}
    with pytest.raises(NothingLeft):
        make_assignment(participant=person)


def submit(assignment: Assignment) -> None:
    Hit.objects.filter(pk=assignment.hit_id).update(n_submitted=F("n_submitted") + 1)
    Assignment.objects.filter(pk=assignment.pk).update(state=Assignment.State.SUBMITTED, ended_at=timezone.now())


def test_when_the_others_have_all_their_ratings_the_study_ends() -> None:
    study = three_systems()
    look_at_due_studies()
    people = [make_participant(study=study, name=f"new{number}") for number in range(8)]
    for person in people:
        for prompt in range(8):
            for system in "AB":
                add_submission(study, person, f"p{prompt}-{system}", "quality", "quality", {"": 2.0 + prompt % 2})
    assert look_at_due_studies() == 1
    last = study.stopping_looks.order_by("-number")[0]
    assert last.stopped and {pair["settled"] for pair in last.differences} == {"different", ""}
    assert in_words(last) == "2 of 3 differences are settled, and the ratings for the others are all in"


def test_a_level_that_is_open_again_is_given_out_again() -> None:
    study = three_systems()
    look_at_due_studies()
    hold(study, {"p0-C"}, set())
    assert held(study) == {"p0-C"}
    hold(study, set(), set())
    assert held(study) == set()


def test_a_hit_of_several_levels_is_held_only_if_all_are_settled() -> None:
    study = make_study(
        task_type="likert",
        payloads=[reply(prompt, system) for prompt in range(2) for system in "AB"],
        config=LIKERT,
        items_per_hit=2,
    )
    items = set(study.items.values_list("external_id", flat=True))
    mixed = {hit.pk: set(hit.items.values_list("external_id", flat=True)) for hit in study.hits.all()}
    one = next(iter(mixed.values()))
    hold(study, one - {min(one)}, set())
    assert not held(study)
    hold(study, items, set())
    assert held(study) == items


def test_an_arm_that_is_settled_takes_nobody_new() -> None:
    study = make_study(task_type="likert", config=LIKERT, arms=({"name": "one"}, {"name": "two"}), items=6)
    hold(study, set(), {"one"})
    for number in range(4):
        assert make_participant(study=study, name=f"p{number}").arm.name == "two"
    hold(study, set(), {"one", "two"})
    assert openings(study) == "full"


@pytest.mark.django_db(transaction=True)
def test_twenty_racing_workers_and_looks_that_hold_and_release_keep_every_cap() -> None:
    """20 people take 4 of 6 hits with 14 places each, while two processes hold some hits and give them out again: no
    hit has more than it wants, nobody has one twice, and the counters are right at the end."""
    payloads = [reply(prompt, system) for prompt in range(3) for system in "AB"]
    study = make_study(
        task_type="likert", payloads=payloads, config=LIKERT, ratings_per_item=14, hits_per_worker=4, stopping=RULE
    )
    people = [make_participant(study=study, name=f"racer{number}").pk for number in range(20)]

    def act(number: int) -> None:
        for turn in range(4):
            if number >= len(people):
                hold(study, {f"p{turn % 3}-A", f"p{number % 3}-B"} if turn % 2 else set(), set())
                continue
            try:
                given = accept_next(participant_id=people[number])
            except NothingLeft:
                continue
            submit(Assignment.objects.get(pk=given.id))

    assert together(act, len(people) + 2) == []
    given = list(Assignment.objects.values_list("hit", "participant"))
    assert len(given) == len(set(given)) >= 40
    for hit in study.hits.annotate(taken=Count("assignments")):
        assert hit.taken == hit.n_live == hit.n_submitted <= hit.wanted
