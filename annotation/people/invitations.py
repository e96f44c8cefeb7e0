"""Personal links: one for each invited person."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from django.db import transaction

from annotation.audit import record
from annotation.identity import link_worker
from annotation.models import Assignment, Invitation, Participant, Study
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from common.problems import Problem, invalid, refuse_if_any

MAX_NAME = 100


@transaction.atomic
def invite(*, study: Study, names: Iterable[str], actor: str) -> list[Invitation]:
    """One personal link for each name, in order. Names that already have a link keep it.

    A name that was also invited to the study whose outputs are judged here, or to a study that this one excludes, means
    the same person. Raises Invalid.
    """
    refuse_if_any(_only_members(study))
    invited_names = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    problems = []
    for name in invited_names:
        if len(name) > MAX_NAME:
            what = f"“{name[:40]}…” is {len(name)} characters long."
            problems.append(Problem("names", what, f"Use at most {MAX_NAME} characters."))
        elif clean_text(name) != name or "\n" in name:
            problems.append(Problem("names", f"{name!r:.60} contains a control character.", "Type it again."))
    refuse_if_any(problems)
    invitations = _lock_invitations(study)
    related = [*study.exclude_studies.order_by("pk").values_list("pk", flat=True)]
    related += Study.objects.filter(feeds__study=study).values_list("pk", flat=True)
    elsewhere: dict[str, int] = {}
    for pk in related:  # the source of the items comes last and takes priority
        elsewhere |= dict(Invitation.objects.filter(study_id=pk).values_list("name", "worker_id"))
    return _invite(
        study,
        [(name, None if name in invitations else elsewhere.get(name)) for name in invited_names],
        invitations,
        actor,
    )


@transaction.atomic
def invite_participants(*, study: Study, of: Study, actor: str) -> list[Invitation]:
    """A personal link for everybody who took part in ``of``. They are the same people in this study.

    Their names are those on their invitations to ``of``, else their pseudonyms there. The caller checks that ``actor``
    may see both studies. Raises Invalid.
    """
    refuse_if_any(_only_members(study))
    if of.pk == study.pk:
        refuse_if_any([Problem("of", "A study cannot invite its own participants.", "Name another study.")])
    invitations = _lock_invitations(study)
    workers_with_link = {invitation.worker_id: invitation.name for invitation in invitations.values()}
    names_in_source = dict(Invitation.objects.filter(study=of).values_list("worker_id", "name"))
    took_part = Assignment.objects.filter(participant__study=of, participant__synthetic=False)
    people = took_part.order_by("participant_id").values_list("participant__worker_id", "participant__pseudonym")
    named = {worker: names_in_source.get(worker, pseudonym) for worker, pseudonym in people.distinct()}
    invited: list[tuple[str, int | None]] = [
        (workers_with_link.get(worker, name), worker) for worker, name in named.items()
    ]
    return _invite(study, invited, invitations, actor)


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, actor: str) -> None:
    """Delete a personal link that nobody has used. Raises Invalid for one with which somebody has begun.

    Such a link stays: it is how the person is known under their name, so that nobody takes part twice.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=invitation.study_id)
    if Participant.objects.filter(study=study, worker=invitation.worker_id).exists():
        what = f"“{invitation.name[:40]}” has begun with this link."
        raise invalid("link", what, "To stop this person, exclude them on the page of the worker.")
    invitation.delete()
    record(study=study, actor=actor, action="revoke link")


def _only_members(study: Study) -> list[Problem]:
    if not get_type(study.task_type).for_members:
        return []
    return [Problem("names", "Members of the study do this work, so it has no links.", "Add members to the study.")]


def _lock_invitations(study: Study) -> dict[str, Invitation]:
    """The study's invitations by name. Nobody else can add one until this transaction ends."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return {invitation.name: invitation for invitation in Invitation.objects.filter(study=study)}


def _invite(
    study: Study, invited: list[tuple[str, int | None]], invitations: dict[str, Invitation], actor: str
) -> list[Invitation]:
    names = {invitation.worker_id: name for name, invitation in invitations.items()}
    problems: list[Problem] = []
    n_created = 0
    for name, worker_id in invited:
        if name in invitations and worker_id in (None, invitations[name].worker_id):
            continue
        if name in invitations:
            what = f"“{name[:40]}” is already the name of another person in this study."
            problems.append(Problem("names", what, "Invite them under another name."))
        elif worker_id in names:
            what = f"“{name[:40]}” is the same person as “{names[worker_id][:40]}”."
            problems.append(Problem("names", what, "Name each person once."))
        else:
            holder = worker_id or link_worker().pk
            invitations[name] = Invitation.objects.create(
                study=study, name=name, key=secrets.token_urlsafe(18), worker_id=holder
            )
            names[holder] = name
            n_created += 1
    refuse_if_any(problems)
    if n_created:
        record(study=study, actor=actor, action="invite", links=n_created)
    return [invitations[name] for name, _ in invited]
