"""Creates studies, changes them while that is allowed, and moves them from state to state.

draft → live ⇄ paused → closed. Everything in a draft may change. Once workers may have seen a study,

- what they see or what their ratings mean cannot change: the short name (it is in the links), the task type and its
  settings, texts, consent, the feedback box, arms, items, items per hit and the seed;
- the rules of quality control, of exclusion and for stopping early cannot change, so that nobody fits them to the data;
- settings for a platform cannot change once the study is posted there, unless the platform can change them later;
- rewards, part pay and what happens to ratings when a worker's data are deleted cannot change, because workers were
  promised them;
- ratings per item can only increase (the places of all hits increase with it);
- everything else can change, because it affects no rating: title, contact, hits per worker, time limit, access,
  identity, excluded studies, the exam, the participants wanted in an arm;
- factors, and the arms' levels, can always change: they decide what the report compares, not what workers see. Only
  with a rule for stopping early are they fixed, and so is the number of ratings that it looks at.

In a closed study, only title, contact and factors may change. Every change adds an audit entry with old and new values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts import log as server_log
from accounts.models import Team
from annotation.audit import record
from annotation.deadlocks import TRIES, is_deadlock
from annotation.models import Arm, Hit, ItemFeed, Membership, Posting, Study
from annotation.platforms import all_platforms
from annotation.platforms.paying_accounts import ACCOUNT, choice_problems, people_called
from annotation.studies.checking import arm_prefix, check_study
from annotation.studies.item_places import places_for
from annotation.studies.spec import ArmSpec, SpecChanges, StudySpec, default_values, differing, spec_of
from annotation.studies.suggesters import release_for
from annotation.task_types.questionnaire_form import QuestionnairesForm
from common.problems import Problem, Refused, invalid, refuse_if_any

Status = Study.Status


class Frozen(Refused):
    """The study is no longer a draft, and this would change what its ratings mean or what workers were promised."""


_ONE_INSTRUMENT = "Locked at launch, so that all ratings come from the same instrument."
FROZEN_WHEN_LIVE: dict[str, str] = {
    "slug": "Locked at launch: it is part of the links that workers have.",
    "task_type": _ONE_INSTRUMENT,
    "config": _ONE_INSTRUMENT,
    "texts": _ONE_INSTRUMENT,
    "arms": _ONE_INSTRUMENT,
    "quality_control": "Locked at launch, so that nobody can fit the rules to the data.",
    "exclude": "Locked at launch, so that nobody can fit the rules to the data.",
    "stopping": "Locked at launch, so that nobody can fit the rule to the data.",
    **dict.fromkeys(QuestionnairesForm.base_fields, "Locked at launch, so that everybody is asked the same."),
    "language": _ONE_INSTRUMENT,
    "item_language": _ONE_INSTRUMENT,
    "interface": _ONE_INSTRUMENT,
    "consent": "Locked at launch: workers have agreed to this text.",
    "feedback_box": _ONE_INSTRUMENT,
    "items_per_hit": "Locked at launch: the hits have been planned.",
    "seed": "Locked at launch: the hits were planned with it.",
    "items": "Locked at launch: the ratings belong to these items.",
    "reward": "Locked at launch: it was promised to workers.",
    "pay_note": "Locked at launch: it was promised to workers.",
    "part_pay": "Locked at launch: it was promised to workers.",
    "part_pay_amount": "Locked at launch: it was promised to workers.",
    "keep_ratings": "Locked at launch: workers were told.",
}
_CLOSED = "The study is closed."
_POSTED = "Locked when the study was posted on the platform."
FROZEN_WHEN_CLOSED: dict[str, str] = FROZEN_WHEN_LIVE | dict.fromkeys(
    (
        *("ratings_per_item", "hits_per_worker", "estimated_minutes", "time_limit_minutes", "access"),
        *("identity", "identity_parameter", "panel", "exclude_studies", "exam_study", "exam_percent"),
    ),
    _CLOSED,
)
_FIX = "Change it back, or duplicate the study and change it there."


@transaction.atomic
def create_study(
    *,
    spec: StudySpec,
    visible: QuerySet[Study] | None = None,
    actor: str,
    owner: User | None,
    team: Team | None = None,
) -> Study:
    """Create a draft. Missing values and settings get their defaults. Raises Invalid.

    ``visible``: the studies that this one's creator may see; None for all. The caller has checked that they may add
    studies to ``team``.
    """
    spec = replace(spec, values=default_values(spec.task_type) | dict(spec.values))
    checked, problems = check_study(spec, instance=Study(), visible=visible)
    problems += choice_problems(checked.platforms, {}, people_called([actor]) or None)
    refuse_if_any(problems)
    study = Study(team=team, **checked.columns())
    try:
        with transaction.atomic():
            study.save(force_insert=True)
    except IntegrityError:
        what = f"Another study already has the short name “{study.slug}”."
        raise invalid("slug", what, "Choose another name.") from None
    _store_arms(study, checked.arms)
    _store_excluded(study, checked.exclude_studies)
    if owner is not None:
        Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    described = {name: value for name, value in checked.terms().items() if value not in ("", [], None)}
    record(
        study=study,
        actor=actor,
        action="create",
        values=described,
        owner=owner.get_username() if owner else None,
        **({"team": team.slug} if team else {}),
    )
    return study


@transaction.atomic
def change_study(
    *, study: Study, visible: QuerySet[Study] | None = None, actor: str, **changes: Unpack[SpecChanges]
) -> Study:
    """Change what is given and different. ``config``, ``texts`` and the lists replace the old ones completely.

    ``values`` may include the slug. Changing the type deletes the items that the old type read. Returns the study as
    stored; ``study`` itself does not change. Raises Invalid or Frozen.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    old = spec_of(now)
    checked = _checked_change(now, old, replace(replace(old, values={}), **changes), visible)
    refuse_if_any(choice_problems(checked.platforms, old.platforms, people_called([actor]) or None))
    terms = differing(old.terms(), checked.terms())
    if frozen := frozen_problems(now, terms):
        raise Frozen(frozen)
    if not terms:
        return now
    if "task_type" in terms:
        delete_items(now)
    columns = checked.columns()
    for name, value in columns.items():
        setattr(now, name, value)
    try:
        with transaction.atomic():
            now.save(update_fields=list(columns))
    except IntegrityError:
        raise invalid("slug", f"Another study already has the short name “{now.slug}”.", "Choose another.") from None
    if checked.arms != old.arms:
        _store_arms(now, checked.arms)
    _store_excluded(now, checked.exclude_studies)
    if "ratings_per_item" in terms and now.status != Status.DRAFT:
        before, after = terms["ratings_per_item"]
        _raise_wanted(now, by=places_for(now, after - before))
    logged = {name: {"old": before, "new": after} for name, (before, after) in terms.items()}
    record(study=now, actor=actor, action="change", changes=logged)
    return now


def _checked_change(study: Study, old: StudySpec, new: StudySpec, visible: QuerySet[Study] | None) -> StudySpec:
    """The study after the change. Raises Invalid."""
    checked, problems = check_study(new, instance=Study.objects.get(pk=study.pk), visible=visible)
    same_instrument = _words_and_settings(new) == _words_and_settings(old)
    if same_instrument and study.status != Status.DRAFT:
        # What a live study started with stays valid, even if a newer version of its type would refuse it.
        parts, arms = ["config.", "texts.", "interface."], checked.arms
        if [_instrument(arm) for arm in new.arms] == [_instrument(arm) for arm in old.arms]:
            parts += [f"{arm_prefix(arm.name, 0)}{part}" for arm in old.arms for part in parts]
            if len(arms) == len(old.arms):
                arms = [
                    replace(arm, config=was.config, texts=was.texts) for arm, was in zip(arms, old.arms, strict=True)
                ]
            elif new.arms == old.arms:
                arms = old.arms
        problems = [problem for problem in problems if not problem.where.startswith(tuple(parts))]
        checked = replace(checked, config=old.config, texts=old.texts, interface=old.interface, arms=tuple(arms))
    refuse_if_any(problems)
    return checked


def _words_and_settings(spec: StudySpec) -> tuple[object, ...]:
    return spec.task_type, spec.config, spec.texts, spec.interface


def _instrument(arm: ArmSpec) -> tuple[object, ...]:
    """What workers of an arm see, which stays as it is after the launch."""
    return arm.name, dict(arm.config), dict(arm.texts)


def _store_arms(study: Study, arms: Sequence[ArmSpec]) -> None:
    """Store the arms. A draft's arms are created again; in any other study, only ``wanted`` and levels can differ."""
    if study.status != Status.DRAFT:
        for arm in arms:
            Arm.objects.filter(study=study, name=arm.name).update(wanted=arm.wanted, factors=arm.factors)
        return
    study.arms.all().delete()
    Arm.objects.bulk_create(
        Arm(
            study=study,
            position=position,
            name=arm.name,
            config=arm.config,
            texts=arm.texts,
            factors=arm.factors,
            reward=arm.reward,
            wanted=arm.wanted,
        )
        for position, arm in enumerate(arms)
    )


def _store_excluded(study: Study, slugs: Sequence[str]) -> None:
    study.exclude_studies.set(Study.objects.filter(slug__in=slugs))


def frozen_problems(study: Study, changes: Mapping[str, tuple[Any, Any]]) -> list[Problem]:
    """Which of ``changes`` (term → old, new) the study no longer allows, and why.

    A term is one of `StudySpec.terms`, ``items``, or ``items.<key>`` of a study file.
    """
    if study.status == Status.DRAFT:
        return []
    problems = []
    for name, (before, after) in changes.items():
        if reason := _why_frozen(study, name):
            problems.append(Problem(name, reason, _FIX))
        elif name == "ratings_per_item" and after < before:
            what = f"You can only raise it from {before}: workers may already be on hits."
            problems.append(Problem(name, what, "To stop earlier, close the study."))
    return problems


def _why_frozen(study: Study, name: str) -> str | None:
    """Why a study that has been launched cannot change this term."""
    part, *rest = name.split(".")
    of_arm = rest[1:] if part == "arms" else []
    closed = _CLOSED if study.status == Status.CLOSED else None
    levels = part == "factors" or of_arm[:1] == ["factors"]
    places = name == "ratings_per_item" or of_arm == ["wanted"]
    if (levels or places) and not closed and study.stopping.get("factor"):
        return "Locked at launch: the rule for stopping early counts on it."
    if part == "platforms":
        planned = study.postings.filter(platform=rest[0])
        if closed:
            return closed
        if rest[1] == ACCOUNT and planned.exists():
            return "Locked when publishing began: the account that posts the work pays for it."
        posted = planned.exclude(state=Posting.State.PLANNED)
        return _POSTED if posted.exists() and rest[1] not in all_platforms()[rest[0]].later else None
    if levels:
        return None
    if name == "items.follow" or of_arm == ["wanted"]:
        return closed
    if of_arm == ["reward"]:
        return FROZEN_WHEN_LIVE["reward"]
    return (FROZEN_WHEN_CLOSED if closed else FROZEN_WHEN_LIVE).get(part)


def _raise_wanted(study: Study, *, by: int) -> None:
    """Add ``by`` places to every hit. Locks rows in the order of their ids, as `reclaim_expired` does.

    If PostgreSQL ends it, because it and another that takes back abandoned hits wait for each other, it tries again.
    """
    hits = Hit.objects.filter(study=study)
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                list(hits.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
                hits.update(wanted=F("wanted") + by)
            return
        except OperationalError as error:
            if not left or not is_deadlock(error):
                raise


# --- states ---


def pause_study(*, study: Study, actor: str) -> Study:
    """Stop giving out work. Hits in progress can still be finished. Does nothing to a paused study."""
    return _move(study, Status.PAUSED, allowed=[Status.LIVE], actor=actor, action="pause")


def resume_study(*, study: Study, actor: str) -> Study:
    """Give out work again in a paused study. Does nothing to a live study."""
    return _move(study, Status.LIVE, allowed=[Status.PAUSED], actor=actor, action="resume")


@transaction.atomic
def close_study(*, study: Study, actor: str) -> Study:
    """End the study: no new work ever again. Hits in progress can still be finished. Does nothing to a closed study."""
    now = _move(study, Status.CLOSED, allowed=[Status.LIVE, Status.PAUSED], actor=actor, action="close")
    if now.closed_at is None:
        now.closed_at = timezone.now()
        now.save(update_fields=["closed_at"])
    Posting.objects.filter(study=now, withdrawn_at=None).update(withdrawn_at=now.closed_at)
    release_for(now)
    return now


@transaction.atomic
def _move(study: Study, to: str, *, allowed: list[Status], actor: str, action: str) -> Study:
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if now.status == to:
        return now
    if now.status not in allowed:
        states = " or ".join(str(state.label).lower() for state in allowed)
        state = "a draft" if now.status == Status.DRAFT else now.get_status_display().lower()
        what = f"This study is {state}; you can only {action} a study that is {states}."
        raise invalid("status", what, _WAY_OUT.get(Status(now.status), ""))
    record(study=now, actor=actor, action=action, old=now.status, new=to)
    now.status = to
    now.save(update_fields=["status"])
    return now


_WAY_OUT = {
    Status.DRAFT: "Launch it first, or delete the draft.",
    Status.CLOSED: "A closed study cannot be opened again. Duplicate it instead.",
}


@transaction.atomic
def delete_draft(*, study: Study, actor: str) -> None:
    """Delete a draft with everything in it except its audit entries. Raises Invalid if the study is not a draft.

    The server's log records which study it was, because nobody can open its Activity page any more.
    """
    now = Study.objects.select_for_update().get(pk=study.pk)
    if now.status != Status.DRAFT:
        what = f"This study is {now.get_status_display().lower()}; only a draft can be deleted."
        raise invalid("status", what, "Close it instead. Its data stay.")
    if feed := ItemFeed.objects.filter(source=now).select_related("study").first():
        what = f"The study {feed.study.slug} uses outputs of this one as its items."
        raise invalid("status", what, "Import other items into that study first.")
    items = delete_items(now)
    record(study=now, actor=actor, action="delete", slug=now.slug, title=now.title, items=items)
    server_log.record(
        kind=server_log.Kind.STUDIES,
        actor=actor,
        action="draft deleted",
        about=now.slug,
        title=now.title,
        task_type=now.task_type,
        items=items,
        number=now.pk,
    )
    now.delete()


_DELETE_ITEMS = (
    "DELETE FROM annotation_itemauthor WHERE item_id IN (SELECT id FROM annotation_item WHERE study_id = %s)",
    "DELETE FROM annotation_item WHERE study_id = %s",
)


def delete_items(draft: Study) -> int:
    """Delete all items of a draft, and where they came from. Returns how many there were.

    Uses SQL, because Django would load every item first to find the rows that refer to it. In a draft, these are only
    the authors; if there were others, the database would refuse.
    """
    ItemFeed.objects.filter(study=draft).delete()
    Study.objects.filter(pk=draft.pk).update(items_read_with={}, has_authors=False)
    with connection.cursor() as cursor:
        for statement in _DELETE_ITEMS:
            cursor.execute(statement, [draft.pk])
        return int(cursor.rowcount)
