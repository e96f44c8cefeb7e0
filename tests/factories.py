"""Small factories, keyword-only, for tests of every app. Studies are planned as going live plans them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from annotation.instrument import Instrument, clear_caches, shown_to
from annotation.models import Assignment, Hit, HitItem, Item, Membership, Participant, Study, Submission
from annotation.services.allocation import accept_next, enrol
from annotation.services.answers import submit_step
from annotation.task_types.base import PROFILES, ItemData, Profile, Row, TaskType
from annotation.task_types.registry import get_type

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
    """Rows of a file that the response-set types read: two rows an item where it compares two sets."""
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


def make_items(*, study: Study, items: int, responses: int = 5) -> list[Item]:
    task = get_type(study.task_type)
    data, problems = task.read_items(sample_rows(task=task, items=items, responses=responses), study.config)
    assert not problems, problems
    return _store_items(study, data)


def _store_items(study: Study, data: list[ItemData]) -> list[Item]:
    rows = [
        Item(study=study, external_id=each.external_id, payload=each.payload, position=at)
        for at, each in enumerate(data)
    ]
    return Item.objects.bulk_create(rows)


def plan_hits(*, study: Study) -> list[Hit]:
    """The study's hits in their seeded order."""
    items = {item.external_id: item for item in study.items.all()}
    bundles = get_type(study.task_type).plan(
        list(items), items_per_hit=study.items_per_hit, config=study.config, rng=random.Random(study.seed)
    )
    hits = Hit.objects.bulk_create(
        Hit(study=study, position=at, wanted=study.ratings_per_item) for at in range(len(bundles))
    )
    HitItem.objects.bulk_create(
        HitItem(hit=hit, item=items[name], position=at)
        for hit, bundle in zip(hits, bundles, strict=True)
        for at, name in enumerate(bundle)
    )
    return hits


def make_study(
    *,
    task_type: str = "abs_hds",
    items: int = 3,
    responses: int = 5,
    ratings_per_item: int = 2,
    live: bool = True,
    config: Mapping[str, Any] | None = None,
    payloads: list[ItemData] | None = None,
    owner: User | None = None,
    **values: Any,
) -> Study:
    """A study with items; with ``live`` its hits are planned and it can be worked on."""
    clear_caches()  # a database of another test may have used the same ids
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
        plan_hits(study=study)
    if owner:
        Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    return study


def make_participant(*, study: Study, platform: str = "link", name: str = "", synthetic: bool = False) -> Participant:
    return enrol(
        study=study,
        platform=platform,
        platform_id=name or f"worker-{next(_numbers)}",
        consented=bool(study.consent),
        synthetic=synthetic,
        profile=PROFILES[0] if synthetic else "",
    )


def make_assignment(*, study: Study | None = None, participant: Participant | None = None) -> Assignment:
    """A hit in progress, no step sent."""
    participant = participant or make_participant(study=study or make_study())
    return Assignment.objects.select_related("hit__study").get(pk=accept_next(participant_id=participant.pk).id)


def simulated_form(
    *, assignment: Assignment, number: int, profile: Profile = "careful", seed: int = 1
) -> dict[str, str]:
    """What a simulated worker sends for one step."""
    instrument = Instrument.of(assignment.hit.study)
    shown = shown_to(assignment, instrument)
    return instrument.task.simulate(
        shown, instrument.steps(shown)[number], profile=profile, rng=random.Random(f"{seed} {number}")
    )


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
    """A finished hit, by way of the services, answered as a simulated worker does."""
    assignment = make_assignment(study=study, participant=participant)
    instrument = Instrument.of(assignment.hit.study)
    for number, spec in enumerate(instrument.steps(shown_to(assignment, instrument))):
        timing = {question.key: {"seconds": seconds, "at": seconds, "pastes": pastes} for question in spec.questions}
        outcome = submit_step(
            assignment_id=assignment.pk,
            participant_id=assignment.participant_id,
            number=number,
            data=simulated_form(assignment=assignment, number=number, profile=profile, seed=seed)
            | {"feedback": feedback},
            timing=timing,
        )
        assert outcome.kind in ("stored", "submitted"), outcome
    return Submission.objects.get(assignment=assignment)
