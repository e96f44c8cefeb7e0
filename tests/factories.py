"""Small factories, keyword-only, for tests of every app. Studies are planned as at the launch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from accounts.models import Team, TeamMember
from accounts.roles import RESEARCHERS, join_group
from annotation.instrument import live_instrument, shown_to, whole_texts
from annotation.models import (
    Arm,
    Assignment,
    Hit,
    Invitation,
    Item,
    ItemAuthor,
    Membership,
    Participant,
    Study,
    Submission,
    Worker,
)
from annotation.people import invitations
from annotation.studies import storing
from annotation.studies.launching import create_hits
from annotation.studies.spec import ArmSpec, StudySpec
from annotation.task_types.base import ArmPlan, Design, TaskType
from annotation.task_types.items import ItemData, Row
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import PROFILES, Profile, SimulatedWorker
from annotation.work.allocation import accept_next, enrol
from annotation.work.answers import submit_step
from annotation.work.asking_again import tries_of_step
from annotation.work.offers import open_page
from annotation.work.right_answers import best_attempt, typed_rightly
from annotation.work.standing import given_answers
from annotation.work.taking_training import send_training_page
from annotation.work.training_rounds import training_due

_numbers = itertools.count(1)

CONTEXTS = (
    "My bicycle was stolen on the first day of my holiday.",
    "Does anybody know a good way to keep cut flowers fresh?",
    "I have just finished my first marathon!",
    "The new café on the corner closes at three in the afternoon.",
    "Our neighbours practise the drums every evening.",
)
RESPONSES = (
    "Oh no, did you report it to the police?",
    "Put a little sugar in the water.",
    "That must have been hard, well done.",
    "I would go there in the morning then.",
    "Have you tried to talk to them?",
    "Maybe your insurance pays for it.",
    "I have never heard of anything like that.",
)


def default_config(task: TaskType) -> dict[str, Any]:
    """The settings a type has when a researcher changes nothing."""
    return {name: field.initial for name, field in task.config_form.base_fields.items()}


def sample_rows(*, task: TaskType, items: int, responses: int = 5) -> list[Row]:
    """Rows of a file. Those of response sets vary; two of them make one item where it compares two sets."""
    if not task.name.endswith("_hds"):
        columns = task.columns(default_config(task))
        named = next(column.name for column in columns if column.required)
        cells = {column.name: column.example for column in columns}
        return [Row(number + 1, cells | {named: f"s{number}"}) for number in range(items)]
    sets = 2 if task.name == "rnk_hds" else 1
    rows: list[Row] = []
    for number in range(items):
        for half in range(sets):
            cells = {
                "sample_id": f"s{number}",
                "context": CONTEXTS[number % len(CONTEXTS)],
                "label_name": "temp",
                "label_value": str(0.2 + 0.3 * ((number + half) % 4)),
            }
            cells |= {f"resp_{at}": RESPONSES[(number + at * (1 + half)) % len(RESPONSES)] for at in range(responses)}
            rows.append(Row(len(rows) + 1, cells))
    return rows


def make_researcher(name: str, *, password: str | None = None, **values: Any) -> User:
    """A user who may use the console."""
    user = User.objects.create_user(name, password=password, **values)
    join_group(user, RESEARCHERS)
    return user


def make_team(study: Study | None = None, slug: str = "lab", **roles: User) -> Team:
    """A team that owns the study. ``roles`` has one member for each role."""
    team = Team.objects.create(name=slug.title(), slug=slug)
    for role, user in roles.items():
        TeamMember.objects.create(team=team, user=user, role=role)
    if study is not None:
        Study.objects.filter(pk=study.pk).update(team=team)
        study.team = team
    return team


def make_items(*, study: Study, items: int, responses: int = 5) -> list[Item]:
    task = get_type(study.task_type)
    data, problems = task.read_items(sample_rows(task=task, items=items, responses=responses), study.config)
    assert not problems, problems
    return _store_items(study, data)


def _store_items(study: Study, data: list[ItemData]) -> list[Item]:
    rows = [
        Item(study=study, external_id=each.external_id, payload=each.payload, role=each.role, position=at)
        for at, each in enumerate(data)
    ]
    return Item.objects.bulk_create(rows)


def make_arms(*, study: Study, arms: Sequence[Mapping[str, Any]] = ({},)) -> list[Arm]:
    """The study's arms, with what workers get fixed as at the launch. Each mapping holds fields of Arm."""
    task = get_type(study.task_type)
    made = []
    for position, values in enumerate(arms):
        arm = Arm(study=study, position=position, **values)
        arm.shown_config = study.config | arm.config
        arm.shown_texts = whole_texts(task, arm.shown_config, study.texts, arm.texts)
        arm.save()
        made.append(arm)
    return made


def plan_hits(*, study: Study) -> list[Hit]:
    """The study's hits in their seeded order."""
    items = {item.external_id: item for item in study.items.all()}
    arms = {arm.name: arm for arm in study.arms.all()}
    design = Design(
        [ArmPlan(arm.name, arm.shown_config, arm.wanted) for arm in arms.values()],
        items_per_hit=study.items_per_hit,
        ratings_per_item=study.ratings_per_item,
    )
    data = [ItemData(item.external_id, item.payload, "main") for item in items.values()]
    planned = get_type(study.task_type).plan(data, design, random.Random(study.seed))
    create_hits(study, list(arms.values()), planned, {name: item.pk for name, item in items.items()}, first=0)
    return list(study.hits.order_by("position"))


def create_study(
    *, slug: str, task_type: str, values: Mapping[str, Any], actor: str, owner: User | None, **parts: Any
) -> Study:
    """A draft from the parts of its description. Arms are as a study file writes them."""
    visible, arms = parts.pop("visible", None), [ArmSpec.of(arm) for arm in parts.pop("arms", ())]
    spec = StudySpec(task_type, {**values, "slug": slug}, arms=arms, **parts)
    return storing.create_study(spec=spec, visible=visible, actor=actor, owner=owner)


def make_study(
    *,
    task_type: str = "abs_hds",
    items: int = 3,
    responses: int = 5,
    ratings_per_item: int = 2,
    live: bool = True,
    config: Mapping[str, Any] | None = None,
    payloads: list[ItemData] | None = None,
    arms: Sequence[Mapping[str, Any]] = ({},),
    owner: User | None = None,
    **values: Any,
) -> Study:
    """A study with items; with ``live`` it has arms, its hits are planned and it can be worked on."""
    number = next(_numbers)
    task = get_type(task_type)
    values = {"slug": f"study-{number}", "title": f"Study {number}", "contact": "lab@example.org"} | values
    if live:
        values = {"status": Study.Status.LIVE, "live_at": timezone.now()} | values
    study = Study.objects.create(
        task_type=task_type,
        config=default_config(task) | dict(config or {}),
        ratings_per_item=ratings_per_item,
        **values,
    )
    if payloads is not None:
        _store_items(study, payloads)
    elif items:
        make_items(study=study, items=items, responses=responses)
    if live:
        make_arms(study=study, arms=arms)
        plan_hits(study=study)
    if owner:
        Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    return study


def make_author(*, item: Item, worker: Worker) -> ItemAuthor:
    """``worker`` wrote part of ``item``, so they must never get it."""
    Study.objects.filter(pk=item.study_id).update(has_authors=True)
    return ItemAuthor.objects.create(item=item, worker=worker)


def make_worker(*, platform: str = "link", name: str = "", synthetic: bool = False) -> Worker:
    """The worker of that name, or a new one."""
    name = name or f"worker-{next(_numbers)}"
    return Worker.objects.get_or_create(platform=platform, platform_id=name, defaults={"synthetic": synthetic})[0]


def make_invitation(*, study: Study, name: str = "anna") -> Invitation:
    return invitations.invite(study=study, names=[name], actor="test")[0]


def make_participant(
    *, study: Study, platform: str = "link", name: str = "", synthetic: bool = False, worker: Worker | None = None
) -> Participant:
    """A participant of a live study; ``name`` is the worker's id on the platform."""
    return enrol(
        study=study,
        worker=worker or make_worker(platform=platform, name=name, synthetic=synthetic),
        consented=bool(study.consent),
        profile=PROFILES[0] if synthetic else "",
    )


def make_assignment(*, study: Study | None = None, participant: Participant | None = None) -> Assignment:
    """A hit in progress, no step sent."""
    participant = participant or make_participant(study=study or make_study())
    accepted = accept_next(participant_id=participant.pk)
    return Assignment.objects.select_related("hit__study", "participant").get(pk=accepted.id)


def simulated_form(
    *, assignment: Assignment, number: int, profile: Profile = "careful", seed: int = 1
) -> dict[str, str]:
    """What a simulated worker sends for one step; the steps before it must have been sent."""
    instrument = live_instrument(assignment.participant.arm_id)
    shown, before = shown_to(assignment, instrument), given_answers(assignment.pk)
    page = instrument.page(shown, number, lambda: before)
    assert page is not None
    return instrument.task.simulate(SimulatedWorker.named(f"worker-{seed}", profile), shown, page, before)


def pass_training(participant: Participant) -> None:
    """Let the participant answer the training rightly, if the study has one."""
    instrument = live_instrument(participant.arm_id)
    while (due := training_due(participant.pk, participant.arm_id, instrument)) is not None:
        best = best_attempt(instrument, due.items.items[due.position], due.order)
        assert best is not None
        sent = send_training_page(
            participant_id=participant.pk,
            attempt=due.attempt,
            place=due.place,
            data=typed_rightly(best, due.page),
            timing={},
        )
        assert sent.kind == "stored", sent


def make_submission(
    *,
    study: Study | None = None,
    participant: Participant | None = None,
    profile: Profile = "careful",
    seed: int = 1,
    seconds: float = 20.0,
    pastes: int = 0,
    feedback: str = "",
) -> Submission:
    """A finished hit, made by the services, with a simulated worker's answers."""
    assignment = make_assignment(study=study, participant=participant)
    instrument = live_instrument(assignment.participant.arm_id)
    pass_training(assignment.participant)
    # Answers within milliseconds would be flagged.
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=F("accepted_at") - timedelta(minutes=1))
    while True:
        number = assignment.steps.count()
        page = open_page(
            instrument=instrument,
            assignment_id=assignment.pk,
            hit_id=assignment.hit_id,
            order=assignment.order,
            number=number,
        ).page
        assert page is not None
        outcome = submit_step(
            assignment_id=assignment.pk,
            participant_id=assignment.participant_id,
            number=number,
            data=simulated_form(assignment=assignment, number=number, profile=profile, seed=seed)
            | {"feedback": feedback},
            timing={each.key: {"seconds": seconds, "at": seconds, "pastes": pastes} for each in page.questions},
            attempt=1 + tries_of_step(assignment.pk, number),
        )
        if outcome.kind == "explained":
            continue
        assert outcome.kind in ("stored", "submitted"), outcome
        if outcome.kind == "submitted":
            break
    return Submission.objects.get(assignment=assignment)
