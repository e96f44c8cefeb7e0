"""Studies: made, changed while that is allowed, and taken through their states.

draft → live ⇄ paused → closed. A draft may change in every way. Once workers may have seen a study,

- what they see or what their ratings mean stays as it is: the short name (it is in the links), the task type and its
  settings, texts, consent, the feedback box, items, items per hit and the seed;
- so does the reward, for it was promised to those who have taken part;
- ratings per item may only rise (the places of all hits rise with it);
- title, contact, hits per worker, time limit and access may change, as none of them touches a rating.

A closed study keeps only its title and contact editable. Every change leaves an audit entry with old and new values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from annotation.models import Hit, Membership, Posting, Study
from annotation.services.allocation import TRIES, is_deadlock
from annotation.services.audit import record
from annotation.services.checking import FIELDS, Checked, check_study, default_values
from annotation.services.importing import delete_items, import_items
from annotation.services.members import add_member, remove_member
from annotation.services.planning import publish, worded_texts
from annotation.services.refusals import FieldProblem, Frozen, Invalid, Refused, refuse_if_any

__all__ = [
    "FROZEN_WHEN_CLOSED",
    "FROZEN_WHEN_LIVE",
    "FieldProblem",
    "Frozen",
    "Invalid",
    "Refused",
    "add_member",
    "change_study",
    "close_study",
    "create_study",
    "delete_draft",
    "frozen_problems",
    "import_items",
    "pause_study",
    "publish",
    "remove_member",
    "resume_study",
]

Status = Study.Status

_ONE_INSTRUMENT = "Workers have seen the study as it is; results of one study come from one instrument."
FROZEN_WHEN_LIVE: dict[str, str] = {
    "slug": "It is part of the links that workers hold.",
    "task_type": _ONE_INSTRUMENT,
    "config": _ONE_INSTRUMENT,
    "texts": _ONE_INSTRUMENT,
    "consent": "Workers have agreed to the text as it is.",
    "feedback_box": _ONE_INSTRUMENT,
    "items_per_hit": "The hits are planned, and workers may be on them.",
    "seed": "The hits are planned with it.",
    "items": "The ratings belong to the items as they are.",
    "reward": "It was promised to those who have taken part.",
}
FROZEN_WHEN_CLOSED: dict[str, str] = FROZEN_WHEN_LIVE | dict.fromkeys(
    ("ratings_per_item", "hits_per_worker", "time_limit_minutes", "access"), "The study is closed."
)
_MEND = "Leave it as it is, or make a new study."


@transaction.atomic
def create_study(
    *,
    slug: str,
    task_type: str,
    values: Mapping[str, Any],
    config: Mapping[str, Any],
    texts: Mapping[str, str],
    actor: str,
    owner: User | None,
) -> Study:
    """A new draft. Fields and settings that are not given get their defaults. Raises Invalid."""
    given = default_values() | dict(values) | {"slug": slug}
    checked, problems = check_study(instance=Study(), values=given, task_type=task_type, config=config, texts=texts)
    refuse_if_any(problems)
    study = Study(task_type=task_type, config=checked.config, texts=checked.texts, **checked.values)
    try:
        with transaction.atomic():
            study.save(force_insert=True)
    except IntegrityError:
        raise Invalid([FieldProblem("slug", f"Another study is called “{slug}”.", "Choose another name.")]) from None
    if owner is not None:
        Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    described = {**checked.values, "task_type": task_type, "config": checked.config, "texts": checked.texts}
    record(study=study, actor=actor, action="create", values=described, owner=owner.get_username() if owner else None)
    return study


@transaction.atomic
def change_study(
    *,
    study: Study,
    values: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    actor: str,
) -> Study:
    """Change what is given and differs. ``config`` and ``texts`` replace the old ones as a whole.

    ``values`` may hold the slug, and the task type, too; items that another type has read are deleted. Returns the
    study as stored; ``study`` itself is not touched. Raises Invalid or Frozen.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    checked, old, task_type = _checked_change(now, dict(values or {}), config, texts)
    new = {**checked.values, "task_type": task_type, "config": checked.config, "texts": checked.texts}
    changes = {name: (old[name], new[name]) for name in new if old[name] != new[name]}
    if frozen := frozen_problems(now, changes):
        raise Frozen(frozen)
    if not changes:
        return now
    if "task_type" in changes:
        delete_items(now)
    for name, (_, value) in changes.items():
        setattr(now, name, value)
    try:
        with transaction.atomic():
            now.save(update_fields=list(changes))
    except IntegrityError:
        raise Invalid([FieldProblem("slug", f"Another study is called “{now.slug}”.", "Choose another.")]) from None
    if "ratings_per_item" in changes and now.status != Status.DRAFT:
        _raise_wanted(now)
    record(
        study=now,
        actor=actor,
        action="change",
        changes={name: {"old": o, "new": n} for name, (o, n) in changes.items()},
    )
    return now


def _checked_change(
    study: Study, values: dict[str, Any], config: Mapping[str, Any] | None, texts: Mapping[str, str] | None
) -> tuple[Checked, dict[str, Any], str]:
    """Clean new values, the old ones under the same names, and the task type. Raises Invalid."""
    old: dict[str, Any] = {name: getattr(study, name) for name in (*FIELDS, "task_type")}
    old |= {"config": study.config, "texts": worded_texts(study)}
    task_type = str(values.pop("task_type", study.task_type))
    kept = config is None and task_type == study.task_type
    checked, problems = check_study(
        instance=Study.objects.get(pk=study.pk),
        values=values,
        task_type=task_type,
        config=study.config if config is None else config,
        texts=old["texts"] if texts is None else texts,
    )
    if kept and study.status != Status.DRAFT:
        # What a live study was started with stays valid, whatever a newer version of its type would say.
        problems = [problem for problem in problems if "." not in problem.field or texts is not None]
        checked = Checked(checked.values, study.config, old["texts"] if texts is None else checked.texts)
    refuse_if_any(problems)
    return checked, old, task_type


def frozen_problems(study: Study, changes: Mapping[str, tuple[Any, Any]]) -> list[FieldProblem]:
    """What of ``changes`` (field → old, new) the study cannot take any more, and why.

    A field may also be ``items``, ``config.<name>`` or ``texts.<name>``.
    """
    if study.status == Status.DRAFT:
        return []
    frozen = FROZEN_WHEN_CLOSED if study.status == Status.CLOSED else FROZEN_WHEN_LIVE
    problems = []
    for name, (before, after) in changes.items():
        reason = frozen.get(name.partition(".")[0])
        if reason:
            problems.append(FieldProblem(name, reason, _MEND))
        elif name == "ratings_per_item" and after < before:
            what = f"It can only rise from {before}: places of hits are given out already."
            problems.append(FieldProblem(name, what, "Close the study to stop it earlier."))
    return problems


def _raise_wanted(study: Study) -> None:
    """More places on every hit. Rows are locked in the order of their ids, as reclaiming locks them.

    Somebody who has taken abandoned hits back and waits for a free one may hold some of them: then once more.
    """
    hits = Hit.objects.filter(study=study)
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                list(hits.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
                hits.update(wanted=study.ratings_per_item)
            return
        except OperationalError as error:
            if not left or not is_deadlock(error):
                raise


def pause_study(*, study: Study, actor: str) -> Study:
    """Nobody is given new work; hits in progress may be finished. Does nothing to a paused study."""
    return _move(study, Status.PAUSED, allowed=[Status.LIVE], actor=actor, action="pause")


def resume_study(*, study: Study, actor: str) -> Study:
    """Work is given out again. Does nothing to a live study."""
    return _move(study, Status.LIVE, allowed=[Status.PAUSED], actor=actor, action="resume")


@transaction.atomic
def close_study(*, study: Study, actor: str) -> Study:
    """The end: no new work, for good; hits in progress may be finished. Does nothing to a closed study."""
    now = _move(study, Status.CLOSED, allowed=[Status.LIVE, Status.PAUSED], actor=actor, action="close")
    if now.closed_at is None:
        now.closed_at = timezone.now()
        now.save(update_fields=["closed_at"])
    Posting.objects.filter(study=now, withdrawn_at=None).update(withdrawn_at=now.closed_at)
    return now


@transaction.atomic
def _move(study: Study, to: str, *, allowed: list[Status], actor: str, action: str) -> Study:
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if now.status == to:
        return now
    if now.status not in allowed:
        states = " or ".join(str(state.label).lower() for state in allowed)
        what = f"This study is {now.get_status_display().lower()}; to {action} it, it has to be {states}."
        raise Invalid([FieldProblem("status", what, _WAY_OUT.get(Status(now.status), ""))])
    record(study=now, actor=actor, action=action, old=now.status, new=to)
    now.status = to
    now.save(update_fields=["status"])
    return now


_WAY_OUT = {
    Status.DRAFT: "Publish it first, or delete the draft.",
    Status.CLOSED: "A closed study stays closed; make a new one.",
}


@transaction.atomic
def delete_draft(*, study: Study, actor: str) -> None:
    """Delete a draft with all it has. Nothing that workers may have touched can be deleted. Raises Invalid."""
    now = Study.objects.select_for_update().get(pk=study.pk)
    if now.status != Status.DRAFT:
        what = f"This study is {now.get_status_display().lower()}; only a draft can be deleted."
        raise Invalid([FieldProblem("status", what, "Close it instead: its data stay.")])
    now.delete()
