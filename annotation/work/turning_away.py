"""How participations end whose answers before the first task turned the participant away."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import F
from django.utils import timezone

from annotation.audit import record
from annotation.models import Arm, Assignment, Participant, PartPayment, Study
from annotation.platforms import platform_class
from annotation.task_types.questionnaires import Questionnaires
from annotation.work.ending import return_assignment, stop_assignment

TurnedAway = Participant.TurnedAway
ACTIONS = {
    TurnedAway.SCREENED_OUT: "screen out",
    TurnedAway.NOT_UNDERSTOOD: "fail the comprehension check",
    TurnedAway.NOT_TRAINED: "fail the training",
}


def turn_away(participant: Participant, reason: TurnedAway, asked: Questionnaires) -> None:
    """End the participation. Their hits are free again; who was screened out is owed what the study promised for it.

    Runs in the caller's transaction, which has locked the participant. What the platform itself pays to people whom it
    is told were screened out is not owed a second time.
    """
    Arm.objects.filter(pk=participant.arm_id).update(n_enrolled=F("n_enrolled") - 1)
    Participant.objects.filter(pk=participant.pk).update(turned_away=reason)
    study = Study.objects.get(pk=participant.study_id)
    owed = asked.screen_out_reward if reason == TurnedAway.SCREENED_OUT else None
    open_ones = Assignment.objects.filter(participant=participant, state=Assignment.State.ACCEPTED).order_by("pk")
    paid: Decimal | None = None
    for work in open_ones.select_related("posting"):
        claim = {"assignment_id": work.pk, "participant_id": participant.pk}
        if owed and paid is None and not _paid_there(work, study, reason) and stop_assignment(**claim):
            # The page of questions is the one step that they did.
            PartPayment.objects.create(assignment=work, amount=owed, steps_done=1, created_at=timezone.now())
            paid = owed
        else:
            return_assignment(**claim)
    detail = {"owed": str(paid)} if paid else {}
    record(study=study, actor="worker", action=ACTIONS[reason], worker=participant.pseudonym, **detail)


def _paid_there(work: Assignment, study: Study, reason: TurnedAway) -> bool:
    if work.posting is None:
        return False
    platform = platform_class(work.posting.platform)
    back = platform.way_back(work.posting, study.platforms.get(platform.name, {}), reason)
    return back is not None and back.paid > 0
