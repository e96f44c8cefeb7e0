"""Notes decisions that a platform carried out and whose replies were lost here."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.models import OutsideAssignment, PlatformCall, Study
from annotation.services.audit import record

OutsideState = OutsideAssignment.State


def settle_rejections(*, study: Study, actor: str) -> int:
    """Note rejections whose replies were lost here and that the platform reports. Returns how many."""
    first, later = Q(key__startswith="reject/"), Q(key__startswith="reject-again/")
    asked = PlatformCall.objects.filter(first | later, study=study, tries__gt=0)
    count = 0
    for call in asked.exclude(state=PlatformCall.State.DONE).order_by("pk"):
        rejected = OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.REJECTED)
        outside = rejected.filter(pk=call.key.split("/")[1]).first()
        if outside is None:
            continue
        with transaction.atomic():
            lost = PlatformCall.objects.filter(pk=call.pk).exclude(state=PlatformCall.State.DONE)
            if lost.update(state=PlatformCall.State.DONE, done_at=timezone.now()):
                record(study=study, actor=actor, action="reject", assignment=outside.external_id, call=call.pk)
                count += 1
    return count
