"""What a launch would start: the hits, their cost, the pay per hour, and what is still missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder

from annotation.access import members_of
from annotation.instrument import item_data
from annotation.models import Arm, Item, Study
from annotation.shell.page import for_members
from annotation.studies import launching
from annotation.studies.factor_notes import factor_notes
from annotation.studies.identical_items import identical_ids, identical_in_words
from annotation.studies.link_identity import identity_warnings
from annotation.studies.spec import spec_of
from annotation.studies.staffing import workers_in_words
from annotation.studies.wording_notes import wording_warnings
from annotation.task_types.base import PlannedHit
from annotation.task_types.registry import get_type
from annotation.work.confirmation import is_posted
from annotation.work.edit_log import records_edits
from annotation.work.hourly_pay import TimePerHit, hourly, is_low, time_per_hit
from annotation.work.quality_rules import CheckItems, check_items_of
from common.problems import Problem, Refused
from common.words import counted, money

if TYPE_CHECKING:
    from analysis.planning.staffing import Staffing

CENT = Decimal("0.01")
RECORDED = "Typing is recorded: every change in a text box, with its time. Workers read this before they start."


class About(StrEnum):
    """What a check is about. A page can leave out checks whose content it shows elsewhere."""

    STUDY = "study"
    LINK = "link"
    PAY_PER_HOUR = "pay per hour"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at before the launch. ``level`` is good, warn or bad; bad prevents the launch."""

    level: str
    text: str
    url_name: str = ""
    about: About = About.STUDY


@dataclass(frozen=True, slots=True)
class ArmCost:
    """The cost and workload of one arm. ``staff``: how many different workers its hits need. ``limited``: the
    participants wanted cannot make as many submissions as that. ``per_hour`` is the pay in USD at the lowest reward;
    None if the time per hit is unknown."""

    name: str
    n_hits: int
    n_submissions: int
    rewards: tuple[Decimal, ...]
    cost: Decimal
    staff: Staffing
    wanted: int | None
    limited: bool
    per_hour: Decimal | None

    @property
    def reward(self) -> Decimal:
        return self.rewards[0]


@dataclass(frozen=True, slots=True)
class Plan:
    """The figures of the page, and ``version``, which changes if the study changes after the page was loaded."""

    n_items: int
    arms: list[ArmCost]
    ratings_per_item: int
    hits_per_worker: int | None
    time: TimePerHit | None
    checks: list[Check]
    version: str
    own_work: bool = False
    check_items: Sequence[CheckItems] = ()

    @property
    def added_items(self) -> list[str]:
        """How many gold and attention items each hit has besides its own items."""
        return [check_item.in_a_hit for check_item in self.check_items if check_item.per_hit]

    @property
    def added_per_hit(self) -> int:
        return sum(check_item.per_hit for check_item in self.check_items)

    @property
    def n_hits(self) -> int:
        return sum(arm.n_hits for arm in self.arms)

    @property
    def n_submissions(self) -> int:
        return sum(arm.n_submissions for arm in self.arms)

    @property
    def cost(self) -> Decimal:
        return sum((arm.cost for arm in self.arms), Decimal(0)).quantize(CENT, ROUND_HALF_UP)

    @property
    def least_workers(self) -> int:
        return sum(min(arm.staff.least, arm.wanted or arm.staff.least) for arm in self.arms)

    @property
    def workers(self) -> list[str]:
        """How many different workers each arm needs, in a sentence."""
        return workers_in_words(
            {arm.name: arm.staff for arm in self.arms if arm.n_hits}, self.hits_per_worker, own_work=self.own_work
        )

    @property
    def has_arms(self) -> bool:
        return any(arm.name for arm in self.arms)

    @property
    def one_reward(self) -> bool:
        return len({reward for arm in self.arms for reward in arm.rewards}) == 1

    @property
    def limited(self) -> bool:
        return any(arm.limited for arm in self.arms)

    @property
    def blocked(self) -> bool:
        return any(check.level == "bad" for check in self.checks)


def fingerprint(study: Study) -> str:
    """A text that changes with anything that a form of the study shows. It reveals that somebody else saved first."""
    spec = spec_of(study)
    shown = [
        *(str(getattr(study, field.attname)) for field in study._meta.concrete_fields if field.name not in _INNER),
        json.dumps([study.config, study.texts, spec.exclude_studies], sort_keys=True),
        json.dumps([arm.as_json() for arm in spec.arms], sort_keys=True, cls=DjangoJSONEncoder),
    ]
    return hashlib.sha256("\n".join(shown).encode()).hexdigest()[:16]


_INNER = (
    *("config", "texts", "items_read_with", "has_authors"),
    *("created_at", "live_at", "closed_at", "complete_at", "duplicated_from"),
)


def plan_of(study: Study) -> Plan:
    items = list(Item.objects.filter(study=study).order_by("position"))
    problems = launching.reasons_not_to_publish(study)
    arms = list(study.arms.order_by("position"))
    planned: list[PlannedHit] = []
    if items:
        try:
            planned = launching.plan(study, arms, [item_data(item) for item in items], seed=study.seed)
        except Refused as refused:
            problems += refused.problems
    marker = max((item.pk for item in items), default=None)
    time = time_per_hit(study)
    check_names = {item.external_id for item in items if item.role != Item.Role.MAIN}
    every_arm: list[Arm | None] = [*arms] or [None]
    costs = [_cost(study, arm, planned, time, check_names) for arm in every_arm]
    return Plan(
        n_items=len(items),
        arms=costs,
        ratings_per_item=study.ratings_per_item,
        own_work=get_type(study.task_type).own_work,
        hits_per_worker=study.hits_per_worker,
        time=time,
        checks=[*_checks(study, items, problems), *([] if for_members(study.task_type) else _pay_checks(costs, time))],
        version=f"{fingerprint(study)}-{len(items)}-{marker}",
        check_items=check_items_of(study),
    )


def _cost(
    study: Study, arm: Arm | None, planned: Sequence[PlannedHit], time: TimePerHit | None, checks: Collection[str]
) -> ArmCost:
    """The cost of one arm. No worker rates the same item twice, or does more hits than the study allows. ``checks``:
    names of gold and attention items, which may come again."""
    from analysis.planning.staffing import staffing  # loads pandas, which workers' requests never need

    name = arm.name if arm else ""
    hits = [hit for hit in planned if hit.arm == name]
    rewards = [launching.reward_of(study, arm, hit) for hit in hits]
    submissions = sum(hit.wanted for hit in hits)
    cost = sum((reward * hit.wanted for reward, hit in zip(rewards, hits, strict=True)), Decimal(0))
    staff = staffing(
        [set(hit.items).difference(checks) for hit in hits], [hit.wanted for hit in hits], study.hits_per_worker
    )
    n_wanted = arm.wanted if arm else None
    most = min(submissions, n_wanted * staff.most_each) if n_wanted else submissions
    limited = n_wanted is not None and (most < submissions or n_wanted < staff.least)
    if limited:
        submissions, cost = most, most * max(rewards)
    shown = tuple(sorted(set(rewards))) or (study.reward if arm is None or arm.reward is None else arm.reward,)
    per_hour = hourly(shown[0], time.seconds) if time else None
    total = cost.quantize(CENT, ROUND_HALF_UP)
    return ArmCost(name, len(hits), submissions, shown, total, staff, n_wanted, limited, per_hour)


#: Where a problem can be fixed, by the first part of what it is about; all others in the settings.
_FIX_PAGES = {
    "items": "console_upload",
    "task_type": "console_type",
    "arms": "console_arms",
    "factors": "console_factors",
    "stopping": "console_stopping",
}
#: Fewer people than this seldom yield enough who pass: of 550 people, 136 passed in Zhang et al. 2020.
FEW_FOR_AN_EXAM = 50


def _checks(study: Study, items: Sequence[Item], problems: Sequence[Problem]) -> list[Check]:
    checks = []
    for problem in problems:
        fix_page = _FIX_PAGES.get(problem.where.partition(".")[0], "console_settings")
        checks.append(Check("bad", f"{problem.what} {problem.fix}".strip(), fix_page))
    if items:
        checks.append(Check("good", f"{counted(len(items), 'item')} imported"))
        checks += [Check("warn", text, "console_upload") for text in launching.left_out_in_words(study, items)]
        task = get_type(study.task_type)
        if same := identical_in_words(identical_ids(task, ((i.external_id, i.payload, i.role) for i in items))):
            checks.append(Check("warn", same, "console_upload"))
    if study.factors:
        # The items may have been replaced since somebody declared them.
        notes = factor_notes(study)
        texts = [*(f"{problem.what} {problem.fix}" for problem in notes.problems), *notes.warnings]
        checks += [Check("warn", text, "console_factors") for text in texts]
    if simulated := sum(1 for item in items if item.source.get("simulated")):
        were = "was" if simulated == 1 else "were"
        what = f"{counted(simulated, 'item')} {were} written by simulated workers."
        checks.append(Check("warn", what, "console_upload"))
    if for_members(study.task_type):
        # Consent, contact and links do not matter to members, but there must be enough of them.
        members = members_of(study).count()
        if members >= study.ratings_per_item:
            text = f"{counted(members, 'member')} can do the work, in the console under Coding"
            return [*checks, Check("good", text)]
        who = f"{counted(study.ratings_per_item, 'member')} are needed"
        text = f"Only {counted(members, 'member')} can do the work; {who}."
        return [*checks, Check("warn", text, "console_members")]
    checks.append(
        Check("good", "Workers read a consent text first")
        if study.consent.strip()
        else Check("warn", "No consent text: workers start without agreeing to anything.", "console_settings")
    )
    checks.append(
        Check("good", f"Workers can write to {study.contact}")
        if study.contact.strip()
        else Check("warn", "No contact: workers cannot ask you anything.", "console_settings")
    )
    if records_edits(study):
        checks.append(Check("good", RECORDED, "console_settings"))
    if _tells_nobody_apart(study):
        text = "The open link cannot tell people apart: the same person can take part several times."
        checks.append(Check("warn", text, "console_settings", About.LINK))
    checks += [Check("warn", text, "console_settings", About.LINK) for text in identity_warnings(study)]
    checks += [Check("warn", text, "console_settings") for text in wording_warnings(study)]
    return [*checks, *_exam_checks(study, items)]


def _exam_checks(study: Study, items: Sequence[Item]) -> list[Check]:
    """Whether enough people can take the study if it is an exam, and can be recognised as those who passed one.

    Platforms and personal links identify people.
    """
    checks = []
    if items and all(item.role == Item.Role.EXAM for item in items):
        who = counted(study.ratings_per_item, "person", "people")
        level, text = "good", f"{who} can take this exam"
        if study.ratings_per_item < FEW_FOR_AN_EXAM:
            level, ratings = "warn", counted(study.ratings_per_item, "rating")
            text = (
                f"Only {who} can take this exam, because each of its items gets {ratings}. Set “Ratings wanted per "
                "item” to the number of people who may take it."
            )
        checks.append(Check(level, text, "console_settings"))
    nobody = "so nobody can be recognised as having passed it. Recognise people by their browser or by an id."
    exam = Study.objects.filter(slug=study.exam_study).first() if study.exam_study else None
    if exam is not None and _tells_nobody_apart(exam) and not is_posted(exam):
        checks.append(Check("warn", f"The exam {exam.slug} cannot tell people apart, {nobody}", "console_settings"))
    if exam is not None and _tells_nobody_apart(study):
        text = f"This study asks for an exam and cannot tell people apart, {nobody}"
        checks.append(Check("warn", text, "console_settings", About.LINK))
    if _tells_nobody_apart(study) and Study.objects.filter(exam_study=study.slug).exists():
        text = f"This study is the exam of another one and cannot tell people apart, {nobody}"
        checks.append(Check("warn", text, "console_settings", About.LINK))
    return checks


def _tells_nobody_apart(study: Study) -> bool:
    return study.access == Study.Access.OPEN and study.identity == Study.Identity.NONE


def _pay_checks(arms: Sequence[ArmCost], time: TimePerHit | None) -> list[Check]:
    """Whether workers are paid, and enough."""
    if not any(reward for arm in arms for reward in arm.rewards):
        text = "The reward is zero: workers get no money. If they get credit, say so on the start page."
        return [Check("warn", text, "console_settings")]
    if time is None:
        text = "The pay per hour is not known. Enter how long a hit takes, under “Pay per hour”."
        return [Check("warn", text, about=About.PAY_PER_HOUR)]
    least = settings.MINIMUM_HOURLY_PAY
    checks = []
    for arm in arms:
        if arm.per_hour is None or not is_low(arm.per_hour):
            continue
        where = f"Arm {arm.name} pays" if arm.name else "This study pays"
        text = f"{where} about {money(arm.per_hour)} an hour, less than the minimum of {money(least)}."
        fix_page = "console_arms" if arm.name else "console_settings"
        checks.append(Check("warn", text, fix_page, About.PAY_PER_HOUR))
    if not checks:
        lowest = min(arm.per_hour for arm in arms if arm.per_hour is not None)
        checks.append(Check("good", f"Workers earn about {money(lowest)} an hour"))
    return checks
