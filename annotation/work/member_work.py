"""Work that members of a study do, such as coding: who starts, who stops, and who takes over.

Only as many members work at a time as the study wants ratings per item, so that the same people code everything. When a
member leaves the study, what they sent stays, and another member can do the rest.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation import identity
from annotation.access import Capability, capabilities_in, members_of
from annotation.audit import record
from annotation.models import Assignment, Hit, Participant, Study
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.work.allocation import NotAdmitted, enrol
from annotation.work.coded_items import coders_of
from annotation.work.ending import take_back_work
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted


@transaction.atomic
def start_member_work(*, study: Study, user: User) -> Participant:
    """The member's participation. The first call creates it, if a place is free. Raises Invalid."""
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    refuse_if_any(reasons_not_to_start(now, user))
    memberships = Participant.objects.filter(
        study=now, worker__platform=identity.MEMBER, worker__platform_id=str(user.pk)
    )
    if participant := memberships.first():
        return participant
    try:
        newcomer = enrol(study=now, worker=identity.member_worker(user), consented=False)
    except NotAdmitted:
        raise invalid("study", "Everything has been coded.", "There is nothing left to start.") from None
    record(study=now, actor=user.get_username(), action="start coding", worker=newcomer.pseudonym)
    return newcomer


def reasons_not_to_start(study: Study, user: User) -> list[Problem]:
    """Why this user cannot start or continue. Empty if they can."""
    if not get_type(study.task_type).for_members:
        return [Problem("study", "Members do not do the work of this study.", "Share its link with workers.")]
    if not members_of(study).filter(pk=user.pk).exists():
        what = "Only members of the study can code, and you are not one."
        return [Problem("study", what, "Ask an owner to add you, or add yourself under Members.")]
    coders = coders_of(study)
    if own_share := next((coder for coder in coders if coder.user_id == user.pk), None):
        what = "An owner has ended your work in this study."
        return [] if own_share.active else [Problem("study", what, "Ask an owner to include you again.")]
    if study.status != Study.Status.LIVE:
        what = f"The study is {study.get_status_display().lower()}, so nobody can start."
        return [Problem("study", what, "Launch it first." if study.status == Study.Status.DRAFT else "")]
    active = [coder.name for coder in coders if coder.active]
    if len(active) >= study.ratings_per_item:
        what = f"{' and '.join(active)} {'is' if len(active) == 1 else 'are'} coding; this study has "
        fix = "To take over from a coder, an owner first removes them under Members. What they have coded stays."
        return [Problem("study", f"{what}{counted(study.ratings_per_item, 'coder')}.", fix)]
    return []


def works_blind(study: Study, user: User) -> bool:
    """Whether others' answers are hidden from this user: they have not coded all of their share, or may still start.

    Owners who do not code see everything, and so does everybody once the study is closed.
    """
    if study.status not in (Study.Status.LIVE, Study.Status.PAUSED) or not _for_members(study):
        return False
    own_share = next((coder for coder in coders_of(study) if coder.user_id == user.pk), None)
    if own_share is not None:
        # A hit with a place that this coder has not filled. What others filled before they left is not theirs.
        sent = Assignment.objects.filter(participant=own_share.participant_id, state=Assignment.State.SUBMITTED)
        unfilled = Hit.objects.filter(study=study, n_submitted__lt=F("wanted")).exclude(pk__in=sent.values("hit"))
        return own_share.active and unfilled.exists()
    return Capability.MANAGE not in capabilities_in(study, user) and not reasons_not_to_start(study, user)


def _for_members(study: Study) -> bool:
    try:
        return get_type(study.task_type).for_members
    except UnknownTaskType:
        return False


@transaction.atomic
def stop_member_work(*, study: Study, user: User) -> None:
    """Give the user no more work, and free the places of their open work. What they sent stays and counts."""
    for participant in _participation(study, user):
        if participant.excluded_at is None:
            Participant.objects.filter(pk=participant.pk).update(excluded_at=timezone.now())
        take_back_work(participant_id=participant.pk)


@transaction.atomic
def allow_member_work(*, study: Study, user: User) -> None:
    """Let a user who is a member again continue with what nobody else has done in the meantime."""
    for participant in _participation(study, user):
        Participant.objects.filter(pk=participant.pk).update(excluded_at=None)


def _participation(study: Study, user: User) -> list[Participant]:
    participants = Participant.objects.select_for_update(no_key=True).filter(study=study)
    return list(participants.filter(worker__platform=identity.MEMBER, worker__platform_id=str(user.pk)))
