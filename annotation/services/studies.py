"""Creates studies, changes them while that is allowed, and moves them from state to state.

draft → live ⇄ paused → closed. Everything in a draft may change. Once workers may have seen a study,

- what they see or what their ratings mean cannot change: the short name (it is in the links), the task type and its
  settings, texts, consent, the feedback box, arms, items, items per hit and the seed;
- the rules of quality control and of exclusion cannot change, so that nobody fits them to the data;
- settings for a platform cannot change once the study is posted there, unless the platform can change them later;
- rewards, part pay and what happens to ratings when a worker's data are deleted cannot change, because workers were
  promised them;
- ratings per item can only increase (the places of all hits increase with it);
- everything else can change, because it affects no rating: title, contact, hits per worker, time limit, access,
  identity, excluded studies, the exam, the participants wanted in an arm.

In a closed study, only title and contact may change. Every change adds an audit entry with old and new values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts import log as server_log
from annotation.models import Arm, Hit, ItemFeed, Membership, Posting, Study
from annotation.platforms import known as known_platforms
from annotation.queries.item_places import places_for
from annotation.services.audit import record
from annotation.services.checking import ARM_FIELDS, FIELDS, ArmValues, Checked, check_study, default_values, rules_of
from annotation.services.deadlocks import TRIES, is_deadlock
from annotation.services.suggesters import release_for
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
    slug: str,
    task_type: str,
    values: Mapping[str, Any],
    config: Mapping[str, Any],
    texts: Mapping[str, str],
    arms: Sequence[Mapping[str, Any]] = (),
    exclude_studies: Sequence[str] = (),
    platforms: Mapping[str, Mapping[str, Any]] | None = None,
    quality_control: Mapping[str, Any] | None = None,
    exclusion: Mapping[str, Any] | None = None,
    visible: QuerySet[Study] | None = None,
    actor: str,
    owner: User | None,
) -> Study:
    """Create a draft. Missing fields and settings get their defaults. Raises Invalid.

    ``visible``: the studies that this one's creator may see; None for all.
    """
    checked, problems = check_study(
        instance=Study(),
        values=default_values(task_type) | dict(values) | {"slug": slug},
        task_type=task_type,
        config=config,
        texts=texts,
        arms=arms,
        exclude_studies=exclude_studies,
        platforms=platforms,
        quality_control=quality_control,
        exclusion=exclusion,
        visible=visible,
    )
    refuse_if_any(problems)
    study = Study(
        task_type=task_type,
        config=checked.config,
        texts=checked.texts,
        platforms=checked.platforms,
        quality_control=checked.quality_control,
        exclusion=checked.exclusion,
        **checked.values,
    )
    try:
        with transaction.atomic():
            study.save(force_insert=True)
    except IntegrityError:
        raise invalid("slug", f"Another study already has the short name “{slug}”.", "Choose another name.") from None
    _store_arms(study, checked.arms)
    _store_excluded(study, checked.exclude_studies)
    if owner is not None:
        Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    described = {name: value for name, value in terms_of(task_type, checked).items() if value not in ("", [], None)}
    record(study=study, actor=actor, action="create", values=described, owner=owner.get_username() if owner else None)
    return study


@transaction.atomic
def change_study(
    *,
    study: Study,
    values: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    arms: Sequence[Mapping[str, Any]] | None = None,
    exclude_studies: Sequence[str] | None = None,
    platforms: Mapping[str, Mapping[str, Any]] | None = None,
    quality_control: Mapping[str, Any] | None = None,
    exclusion: Mapping[str, Any] | None = None,
    visible: QuerySet[Study] | None = None,
    actor: str,
) -> Study:
    """Change what is given and different. ``config``, ``texts`` and the lists replace the old ones completely.

    ``values`` may include the slug and the task type. Changing the type deletes the items that the old type read.
    Returns the study as stored; ``study`` itself does not change. Raises Invalid or Frozen.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    new_values = dict(values or {})
    task_type = str(new_values.pop("task_type", now.task_type))
    old = stored_parts(now)
    given = _Given(new_values, task_type, config, texts, arms, exclude_studies, platforms, quality_control, exclusion)
    checked = _checked_change(now, old, given, visible)
    changes = differing(terms_of(now.task_type, old), terms_of(task_type, checked))
    if frozen := frozen_problems(now, changes):
        raise Frozen(frozen)
    if not changes:
        return now
    if "task_type" in changes:
        delete_items(now)
    _store(now, task_type, checked)
    if checked.arms != old.arms:
        _store_arms(now, checked.arms)
    _store_excluded(now, checked.exclude_studies)
    if "ratings_per_item" in changes and now.status != Status.DRAFT:
        _raise_wanted(now, by=places_for(now, changes["ratings_per_item"][1] - changes["ratings_per_item"][0]))
    told = {name: {"old": before, "new": after} for name, (before, after) in changes.items()}
    record(study=now, actor=actor, action="change", changes=told)
    return now


@dataclass(frozen=True, slots=True)
class _Given:
    """What a change replaces; None for what stays."""

    values: dict[str, Any]
    task_type: str
    config: Mapping[str, Any] | None
    texts: Mapping[str, str] | None
    arms: Sequence[Mapping[str, Any]] | None
    exclude_studies: Sequence[str] | None
    platforms: Mapping[str, Mapping[str, Any]] | None
    quality_control: Mapping[str, Any] | None
    exclusion: Mapping[str, Any] | None


def _checked_change(study: Study, old: Checked, given: _Given, visible: QuerySet[Study] | None) -> Checked:
    """The study after the change. Raises Invalid."""
    config, texts, arms = given.config, given.texts, given.arms
    checked, problems = check_study(
        instance=Study.objects.get(pk=study.pk),
        values=given.values,
        task_type=given.task_type,
        config=old.config if config is None else config,
        texts=old.texts if texts is None else texts,
        arms=[arm_as_given(arm) for arm in old.arms] if arms is None else arms,
        exclude_studies=old.exclude_studies if given.exclude_studies is None else given.exclude_studies,
        platforms=given.platforms,
        quality_control=given.quality_control,
        exclusion=given.exclusion,
        visible=visible,
    )
    if config is None and texts is None and given.task_type == study.task_type and study.status != Status.DRAFT:
        # What a live study started with stays valid, even if a newer version of its type would refuse it.
        parts = ("config.", "texts.") if arms is not None else ("config.", "texts.", "arms.")
        problems = [problem for problem in problems if not problem.where.startswith(parts)]
        same_arms = old.arms if arms is None else checked.arms
        checked = replace(checked, config=old.config, texts=old.texts, arms=same_arms)
    refuse_if_any(problems)
    return checked


def _store(study: Study, task_type: str, checked: Checked) -> None:
    parts = {"config": checked.config, "texts": checked.texts, "platforms": checked.platforms}
    parts |= {"quality_control": checked.quality_control, "exclusion": checked.exclusion}
    stored = {"task_type": task_type, **parts, **checked.values}
    for name, value in stored.items():
        setattr(study, name, value)
    try:
        with transaction.atomic():
            study.save(update_fields=list(stored))
    except IntegrityError:
        raise invalid("slug", f"Another study already has the short name “{study.slug}”.", "Choose another.") from None


def _store_arms(study: Study, arms: Sequence[ArmValues]) -> None:
    """Store the arms. A draft's arms are created again; in any other study, only ``wanted`` can differ."""
    if study.status != Status.DRAFT:
        for arm in arms:
            Arm.objects.filter(study=study, name=arm.name).update(wanted=arm.wanted)
        return
    study.arms.all().delete()
    Arm.objects.bulk_create(
        Arm(
            study=study,
            position=position,
            name=arm.name,
            config=arm.config,
            texts=arm.texts,
            reward=arm.reward,
            wanted=arm.wanted,
        )
        for position, arm in enumerate(arms)
    )


def _store_excluded(study: Study, slugs: Sequence[str]) -> None:
    study.exclude_studies.set(Study.objects.filter(slug__in=slugs))


# --- what is stored, and what differs ---


def stored_parts(study: Study) -> Checked:
    """The study as stored, in the form that is used to check changes. Rules that it does not store have defaults."""
    return Checked(
        {name: getattr(study, name) for name in FIELDS},
        study.config,
        study.texts,
        tuple(
            ArmValues(arm.name, arm.config, arm.texts, arm.reward, arm.wanted)
            for arm in study.arms.exclude(name="").order_by("position")
        ),
        tuple(study.exclude_studies.order_by("slug").values_list("slug", flat=True)),
        study.platforms,
        *rules_of(study),
    )


def arm_as_given(arm: ArmValues) -> dict[str, Any]:
    """An arm in the form that `check_study` accepts."""
    own = {name: getattr(arm, name) for name in ARM_FIELDS}
    return own | {"config": arm.config, "texts": arm.texts}


def terms_of(task_type: str, parts: Checked) -> dict[str, Any]:
    """Everything about a study, by its name in a study file: ``config.<name>``, ``arms.<arm>.reward`` and so on."""
    terms: dict[str, Any] = {"task_type": task_type, **parts.values}
    terms |= {f"config.{name}": value for name, value in parts.config.items()}
    terms |= {f"texts.{name}": text for name, text in parts.texts.items()}
    for platform, settings in parts.platforms.items():
        terms |= {f"platforms.{platform}.{name}": value for name, value in settings.items()}
    terms |= {f"quality_control.{name}": value for name, value in parts.quality_control.items()}
    terms |= {f"exclude.{name}": value for name, value in parts.exclusion.items()}
    terms |= {"exclude_studies": list(parts.exclude_studies), "arms": [arm.name for arm in parts.arms]}
    for arm in parts.arms:
        prefix = f"arms.{arm.name}."
        terms |= {f"{prefix}reward": arm.reward, f"{prefix}wanted": arm.wanted}
        terms |= {f"{prefix}config.{name}": value for name, value in arm.config.items()}
        terms |= {f"{prefix}texts.{name}": text for name, text in arm.texts.items()}
    return terms


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Old and new value of each term that differs. A missing value is None."""
    names: Iterable[str] = dict.fromkeys([*new, *old])
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def frozen_problems(study: Study, changes: Mapping[str, tuple[Any, Any]]) -> list[Problem]:
    """Which of ``changes`` (term → old, new) the study no longer allows, and why.

    A term is one of `terms_of`, ``items``, or ``items.<key>`` of a study file.
    """
    if study.status == Status.DRAFT:
        return []
    frozen = FROZEN_WHEN_CLOSED if study.status == Status.CLOSED else FROZEN_WHEN_LIVE
    problems = []
    for name, (before, after) in changes.items():
        reason = frozen.get(name.partition(".")[0])
        own = name.split(".")[2:] if name.startswith("arms.") else []
        if name == "items.follow" or own == ["wanted"]:
            reason = _CLOSED if study.status == Status.CLOSED else None
        if own == ["reward"]:
            reason = FROZEN_WHEN_LIVE["reward"]
        if name.startswith("platforms."):
            reason = _locked_on_platform(study, *name.split(".")[1:3])
        if reason:
            problems.append(Problem(name, reason, _FIX))
        elif name == "ratings_per_item" and after < before:
            what = f"You can only raise it from {before}: workers may already be on hits."
            problems.append(Problem(name, what, "To stop earlier, close the study."))
    return problems


def _locked_on_platform(study: Study, platform: str, setting: str) -> str | None:
    """Why a setting for a platform is locked; None if it is not."""
    if study.status == Status.CLOSED:
        return _CLOSED
    posted = study.postings.filter(platform=platform).exclude(state=Posting.State.PLANNED).exists()
    is_locked = posted and setting not in known_platforms()[platform].later
    return "Locked when the study was posted on the platform." if is_locked else None


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
        what = f"This study is {now.get_status_display().lower()}; you can only {action} a study that is {states}."
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
