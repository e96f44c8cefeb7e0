"""Makes a study live: plans the hits from the seed, fixes the instrument of each arm, and opens the link."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from analysis.quality_control.exclusion import Exclusion
from annotation import sql
from annotation.audit import record
from annotation.instrument import Instrument, item_data, whole_texts
from annotation.models import Arm, Hit, HitItem, Item, Posting, Study, Webhook
from annotation.platforms import link
from annotation.studies.checking import check_study
from annotation.studies.gold_items import rule_problems, with_checks
from annotation.studies.importing_items import settings_read_otherwise
from annotation.studies.rehearsing import Rehearsal, everybody_excluded
from annotation.studies.spec import spec_of
from annotation.studies.stopping_checks import stopping_problems
from annotation.studies.suggesters import hold_for, suggester_problems
from annotation.studies.training_items import training_problems
from annotation.task_types.base import ArmPlan, Design, PlannedHit
from annotation.task_types.items import ANSWERED_ROLES, ItemData
from annotation.task_types.registry import get_type
from annotation.webhook_events import announce
from annotation.work.exams import has_right_answers
from annotation.work.hourly_pay import low_wages
from annotation.work.quality_rules import rules_of
from common.problems import Invalid, Problem, invalid, refuse_if_any
from common.words import counted, money

Status = Study.Status
BATCH = 2_000
MOST_WANTED = 32_767  # the largest value that fits in the column


@transaction.atomic
def publish(*, study: Study, actor: str, by_link: bool = True) -> None:
    """Plan the hits and open the study. With ``by_link``, it opens at its link; otherwise a platform sends its workers.

    Does nothing to a live study. Raises Invalid with everything that prevents the launch.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if now.status == Status.LIVE:
        return
    refuse_if_any(reasons_not_to_publish(now))
    task = get_type(now.task_type)
    arms = list(now.arms.order_by("position")) or [Arm.objects.create(study=now, position=0)]
    for arm in arms:
        # All texts are saved as they are now, because a newer version of the type may change its wording.
        arm.shown_config = now.config | arm.config
        arm.shown_texts = whole_texts(task, arm.shown_config, now.texts, arm.texts)
        arm.save(update_fields=["shown_config", "shown_texts"])
    hold_for(now, arms)
    items = list(Item.objects.filter(study=now).order_by("position"))
    planned = plan(now, arms, [item_data(item) for item in items], seed=now.seed)
    create_hits(now, arms, planned, {item.external_id: item.pk for item in items}, first=0)
    now.status = Status.LIVE
    now.live_at = timezone.now()
    now.save(update_fields=["status", "live_at"])
    record(study=now, actor=actor, action="publish", hits=len(planned), items=len(items), seed=now.seed)
    announce(study=now, event=Webhook.Event.LAUNCHED, hits=len(planned), items=len(items))
    study.refresh_from_db()
    if by_link and not task.for_members:
        Posting.objects.get_or_create(
            platform=link.PLATFORM, external_id=now.slug, defaults={"study": now, "url": link.study_url(now)}
        )


def reasons_not_to_publish(study: Study) -> list[Problem]:
    """Everything that prevents this draft from going live. Empty if it can."""
    if study.status != Status.DRAFT:
        fix = "Resume it." if study.status == Status.PAUSED else "Duplicate the study."
        return [Problem("status", f"The study is {study.get_status_display().lower()}, not a draft.", fix)]
    _, problems = check_study(spec_of(study), instance=Study.objects.get(pk=study.pk))
    n_items = Item.objects.filter(study=study).exclude(role__in=ANSWERED_ROLES).count()
    if not n_items:
        problems.append(Problem("items", "The study has no items.", "Import items first."))
    elif study.items_per_hit > n_items:
        what = f"A hit has {counted(study.items_per_hit, 'item')}, but the study has only {n_items}."
        fix = f"Import more items, or set “Items per hit” (items_per_hit) to a number from 1 to {n_items}."
        problems.append(Problem("items_per_hit", what, fix))
    problems += _member_problems(study, n_items)
    exam = Study.objects.filter(slug=study.exam_study).first() if study.exam_study else None
    if study.exam_study and exam is None:
        what = f"There is no study “{study.exam_study}”, so nobody can pass its exam."
        problems.append(Problem("exam_study", what, "Name another study, or leave this empty."))
    elif exam is not None and not has_right_answers(exam):
        what = f"Nobody can pass the exam {exam.slug}: none of its items has a right answer."
        fix = "Import items with right answers there, or name another study."
        problems.append(Problem("exam_study", what, fix))
    for name, (then, now) in settings_read_otherwise(study).items() if n_items else ():
        what = f"The items were read with {name} {then!r:.60}; it is {now!r:.60} now."
        problems.append(Problem("items", what, "Import the items again, or change the setting back."))
    problems += rule_problems(study) + stopping_problems(study) + training_problems(study) + suggester_problems(study)
    if settings.REFUSE_LOW_PAY:
        least = money(settings.MINIMUM_HOURLY_PAY)
        fix = f"Raise the reward. This server launches no study that pays less than {least} an hour."
        problems += [
            Problem("reward", f"{money(reward)} pays about {money(per_hour)} an hour.", fix)
            for reward, per_hour in low_wages(study)
        ]
    return problems or _rehearse(study)


def _rehearse(study: Study) -> list[Problem]:
    """Exclusion rules that no careful worker can pass, in each arm. Plans the hits only if the study has such rules."""
    rules = Exclusion.of(rules_of(study)[1])
    if not rules:
        return []
    arms = list(study.arms.order_by("position"))
    items = [item_data(item) for item in Item.objects.filter(study=study).order_by("position")]
    try:
        planned = plan(study, arms, items, seed=study.seed)
    except Invalid:
        return []  # the launch itself says what is wrong with the plan
    problems: list[Problem] = []
    named = {item.external_id: item for item in items}
    each_arm: list[Arm | None] = [*arms] if arms else [None]
    for arm in each_arm:
        part = Rehearsal(Instrument.of(study, arm), rules, study.time_limit_minutes * 60)
        problems += everybody_excluded(part, [hit for hit in planned if hit.arm == part.instrument.arm], named)
    return problems


def _member_problems(study: Study, n_items: int) -> list[Problem]:
    """What prevents members of the study from doing its work, for types whose work members do."""
    if not get_type(study.task_type).for_members:
        return []
    problems = []
    rewards = [study.reward, *(arm.reward for arm in study.arms.all() if arm.reward is not None)]
    if any(rewards):
        what = "Members of the study do this work, and this server pays nobody for it."
        problems.append(Problem("reward", what, "Set the reward to 0."))
    if study.hits_per_worker is not None and study.hits_per_worker * study.items_per_hit < n_items:
        what = f"A coder could code only {study.hits_per_worker * study.items_per_hit:,} of {n_items:,} items."
        problems.append(Problem("hits_per_worker", what, "Leave the maximum number of hits per worker empty."))
    return problems


def design_of(study: Study, arms: Sequence[Arm]) -> Design:
    """The study's design for the planner. ``arms`` may be those of a draft, where no arms means one without a name."""
    plans = [ArmPlan(arm.name, study.config | arm.config, arm.wanted) for arm in arms]
    return Design(plans or [ArmPlan("", study.config)], study.items_per_hit, study.ratings_per_item)


def plan(study: Study, arms: Sequence[Arm], items: Sequence[ItemData], *, seed: int | str) -> list[PlannedHit]:
    """The hits that the type plans for ``items``, each with the gold and attention items that the study wants.

    Raises Invalid if the type's plan cannot be used.
    """
    rng = random.Random(seed)  # noqa: S311 - the plan must be reproducible, not unpredictable
    design = design_of(study, arms)
    planned = get_type(study.task_type).plan([item for item in items if item.role not in ANSWERED_ROLES], design, rng)
    planned = with_checks(planned, items, rules_of(study)[0], rng)
    # A mistake in a type's own ``plan`` must not go live: a missing item would never be rated.
    names = {item.external_id for item in items}
    left_out = get_type(study.task_type).left_out(items, design)
    needed = {item.external_id for item in items if item.role == "main"}.difference(*left_out.values())
    used = {name for hit in planned for name in hit.items}
    wrong = {
        f"items in no hit: {len(needed - used):,}": needed - used,
        "it has items that the study lacks": used - names,
        "a hit is empty or has an item twice": [hit for hit in planned if len(set(hit.items)) != (len(hit.items) or 1)],
        f"a hit wants fewer than 1 or more than {MOST_WANTED:,}": [
            hit for hit in planned if not 1 <= hit.wanted <= MOST_WANTED
        ],
        "a hit is in no arm, or an arm has no hit": {arm.name for arm in design.arms} ^ {hit.arm for hit in planned},
    }
    if mistakes := [what for what, cases in wrong.items() if cases]:
        what = f"The task type's plan cannot be used: {'; '.join(mistakes)}."
        raise invalid("task_type", what, "Try another number of items per hit.")
    return planned


def left_out_in_words(study: Study, items: Sequence[Item] | None = None) -> list[str]:
    """How many of the study's items no arm asks for, a sentence for each reason. ``items``: all, if read already."""
    if items is None:
        items = list(Item.objects.filter(study=study).order_by("position"))
    design = design_of(study, list(study.arms.order_by("position")))
    reasons = get_type(study.task_type).left_out([item_data(item) for item in items], design)
    return [
        f"{counted(len(names), 'item')} {why} {'is' if len(names) == 1 else 'are'} left out: no arm asks for "
        f"{'it' if len(names) == 1 else 'them'}."
        for why, names in reasons.items()
    ]


def create_hits(
    study: Study, arms: Sequence[Arm], planned: Sequence[PlannedHit], ids: Mapping[str, int], *, first: int
) -> None:
    """Store the planned hits, at positions from ``first``. ``ids`` has the items' database ids by name.

    Hits that are planned later are about new items, so they share none with earlier ones.
    """
    arm_named = {arm.name: arm for arm in arms}
    layers = _layers(study, planned)
    sharing = {hit.arm for hit, layer in zip(planned, layers, strict=True) if layer}
    Arm.objects.filter(pk__in=[arm_named[name].pk for name in sharing]).update(shares_items=True)
    hits = Hit.objects.bulk_create(
        (
            Hit(
                study=study,
                arm=arm_named[hit.arm],
                position=first + index,
                wanted=hit.wanted,
                reward=reward_of(study, arm_named[hit.arm], hit),
                layer=layers[index],
            )
            for index, hit in enumerate(planned)
        ),
        batch_size=BATCH,
    )
    HitItem.objects.bulk_create(
        (
            HitItem(hit=hit, item_id=ids[name], position=index)
            for hit, bundle in zip(hits, planned, strict=True)
            for index, name in enumerate(bundle.items)
        ),
        batch_size=BATCH,
    )
    # If this fails, it is only logged: the study is live, and whatever else waits for the commit must happen.
    transaction.on_commit(lambda: sql.analyze(Item, Hit, HitItem), robust=True)


def _layers(study: Study, planned: Sequence[PlannedHit]) -> list[int]:
    """The layer of each hit in its arm: hits of one layer share no main item."""
    from analysis.planning.staffing import layers_of  # loads pandas, which workers' requests never need

    others = set(Item.objects.filter(study=study).exclude(role=Item.Role.MAIN).values_list("external_id", flat=True))
    layers = [0] * len(planned)
    for arm in {hit.arm for hit in planned}:
        places = [index for index, hit in enumerate(planned) if hit.arm == arm]
        tasks = [set(planned[index].items) - others for index in places]
        for index, layer in zip(places, layers_of(tasks), strict=True):
            layers[index] = layer
    return layers


def reward_of(study: Study, arm: Arm | None, hit: PlannedHit) -> Decimal:
    """The reward in the plan, else the arm's, else the study's."""
    for reward in (hit.reward, arm.reward if arm else None):
        if reward is not None:
            return reward
    return study.reward
