"""Who somebody is: the ways to recognize a worker, and personal links.

A worker is identified by a platform and an id there. People who come by the open link are new every time, or are
recognized by a key that their browser saves, or by the id that a panel adds to the link. A personal link belongs to one
invitation.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from annotation.models import Assignment, Invitation, Participant, Study, Worker
from annotation.services.audit import record
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from common.problems import Problem, refuse_if_any

LINK, BROWSER, PANEL, SIMULATED, MEMBER = "link", "browser", "panel", "simulated", "member"
MAX_NAME = 100
_BROWSER_KEY = re.compile(r"[A-Za-z0-9]{20,64}")
# Does not match a placeholder that a panel failed to fill in, such as {{%PROLIFIC_PID%}} or ${id}.
_PANEL_ID = re.compile(r"[A-Za-z0-9._~@:+-]{1,100}")


def link_worker(key: str = "") -> Worker:
    """An anonymous person: with ``key``, always the same one; without, a new one."""
    return _worker(LINK, key or secrets.token_hex(16))


def is_browser_key(key: str) -> bool:
    """Whether ``key`` has the form of the keys that workers' pages save in a browser. Other keys are ignored."""
    return _BROWSER_KEY.fullmatch(key) is not None


def browser_worker(key: str) -> Worker:
    """The person whose browser saved ``key``: the same in all studies of this server."""
    return _worker(BROWSER, key)


def is_panel_id(name: str) -> bool:
    """Whether ``name`` can be a panel's id for a person."""
    return _PANEL_ID.fullmatch(name) is not None


def panel_id(panel: str, name: str) -> str:
    """The platform id of the person whom ``panel`` calls ``name``. It is the same in all studies with this panel."""
    return f"{panel}/{name}"


def panel_worker(panel: str, name: str) -> Worker:
    """The person whom ``panel`` calls ``name``."""
    return _worker(PANEL, panel_id(panel, name))


def return_proof(study: Study, secret: str) -> str:
    """What is stored of a secret that only the browser of somebody who starts has. Different in every study."""
    return salted_hmac("annotation.return", f"{study.pk}:{secret}", algorithm="sha256").hexdigest()


def may_return(participant: Participant, *secrets_shown: str) -> bool:
    """Whether one of these is the secret with which the participant started. A panel's id alone shows nothing: other
    people know it, too."""
    stored = participant.returns_with or ""
    shown = [return_proof(participant.study, secret) for secret in secrets_shown if secret]
    return bool(stored) and any(constant_time_compare(each, stored) for each in shown)


def member_worker(user: User) -> Worker:
    """The user as a worker, for studies whose members do the work. The same person in all of them."""
    return _worker(MEMBER, str(user.pk))


def simulated_id(study: Study, name: str) -> str:
    """The platform id of a simulated worker. It is different in every study."""
    return f"{study.slug}/{name}"


def simulated_worker(study: Study, name: str) -> Worker:
    """The simulated worker with this name in this study."""
    return _worker(SIMULATED, simulated_id(study, name), synthetic=True)


def _worker(platform: str, platform_id: str, *, synthetic: bool = False) -> Worker:
    worker, _ = Worker.objects.get_or_create(
        platform=platform, platform_id=platform_id, defaults={"synthetic": synthetic}
    )
    return worker


@transaction.atomic
def invite(*, study: Study, names: Iterable[str], actor: str) -> list[Invitation]:
    """One personal link for each name, in order. Names that already have a link keep it.

    A name that was also invited to the study whose outputs are judged here, or to a study that this one excludes, means
    the same person. Raises Invalid.
    """
    refuse_if_any(_only_members(study))
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    refuse_if_any([problem for name in wanted for problem in _name_problems(name)])
    known = _lock_invitations(study)
    elsewhere = _invited_to_related(study)
    return _invite(study, [(name, None if name in known else elsewhere.get(name)) for name in wanted], known, actor)


@transaction.atomic
def invite_participants(*, study: Study, of: Study, actor: str) -> list[Invitation]:
    """A personal link for everybody who took part in ``of``. They are the same people in this study.

    Their names are those on their invitations to ``of``, else their pseudonyms there. The caller checks that ``actor``
    may see both studies. Raises Invalid.
    """
    refuse_if_any(_only_members(study))
    if of.pk == study.pk:
        refuse_if_any([Problem("of", "A study cannot invite its own participants.", "Name another study.")])
    known = _lock_invitations(study)
    workers_with_link = {invitation.worker_id: invitation.name for invitation in known.values()}
    there = dict(Invitation.objects.filter(study=of).values_list("worker_id", "name"))
    took_part = Assignment.objects.filter(participant__study=of, participant__synthetic=False)
    people = took_part.order_by("participant_id").values_list("participant__worker_id", "participant__pseudonym")
    named = {worker: there.get(worker, pseudonym) for worker, pseudonym in people.distinct()}
    wanted: list[tuple[str, int | None]] = [
        (workers_with_link.get(worker, name), worker) for worker, name in named.items()
    ]
    return _invite(study, wanted, known, actor)


def _only_members(study: Study) -> list[Problem]:
    if not get_type(study.task_type).for_members:
        return []
    return [Problem("names", "Members of the study do this work, so it has no links.", "Add members to the study.")]


def _name_problems(name: str) -> list[Problem]:
    if len(name) > MAX_NAME:
        what = f"“{name[:40]}…” is {len(name)} characters long."
        return [Problem("names", what, f"Use at most {MAX_NAME} characters.")]
    if clean_text(name) != name or "\n" in name:
        return [Problem("names", f"{name!r:.60} contains a control character.", "Type it again.")]
    return []


def _lock_invitations(study: Study) -> dict[str, Invitation]:
    """The study's invitations by name. Nobody else can add one until this transaction ends."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return {each.name: each for each in Invitation.objects.filter(study=study)}


def _invited_to_related(study: Study) -> dict[str, int]:
    """Worker ids by name: who was invited to the source of the study's items or to a study that it excludes."""
    found: dict[str, int] = {}
    related = [*study.exclude_studies.order_by("pk").values_list("pk", flat=True)]
    related += Study.objects.filter(feeds__study=study).values_list("pk", flat=True)
    for pk in related:  # the source comes last and takes priority
        found |= dict(Invitation.objects.filter(study_id=pk).values_list("name", "worker_id"))
    return found


def _invite(
    study: Study, wanted: list[tuple[str, int | None]], known: dict[str, Invitation], actor: str
) -> list[Invitation]:
    names = {invitation.worker_id: name for name, invitation in known.items()}
    problems: list[Problem] = []
    made = 0
    for name, worker_id in wanted:
        if name in known and worker_id in (None, known[name].worker_id):
            continue
        if name in known:
            what = f"“{name[:40]}” is already the name of another person in this study."
            problems.append(Problem("names", what, "Invite them under another name."))
        elif worker_id in names:
            what = f"“{name[:40]}” is the same person as “{names[worker_id][:40]}”."
            problems.append(Problem("names", what, "Name each person once."))
        else:
            holder = worker_id or link_worker().pk
            known[name] = Invitation.objects.create(
                study=study, name=name, key=secrets.token_urlsafe(18), worker_id=holder
            )
            names[holder] = name
            made += 1
    refuse_if_any(problems)
    if made:
        record(study=study, actor=actor, action="invite", links=made)
    return [known[name] for name, _ in wanted]
