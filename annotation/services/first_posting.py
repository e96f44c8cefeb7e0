"""Publishing for the first time: if the platform refuses it, the study becomes a draft again.

Otherwise, what the platform refused (a reward, a time, a filter) would stay locked, because the launch locks it.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from annotation.models import Hit, HitItem, Participant, PlatformCall, Posting, Study
from annotation.platforms.base import Platform, PlatformTrouble
from annotation.services import publishing
from annotation.services.audit import record
from annotation.services.spending import forget_launch
from annotation.services.suggesters import release_for

BACK = "Nothing was posted, and the study is a draft again: change what was refused, then publish it again."


def post_all_or_take_back(
    *, study: Study, platform: Platform, actor: str, step: Callable[[int], None] = lambda done: None
) -> publishing.Posted:
    """`post_all`. If the platform refuses the first posting, the launch is taken back. Raises PlatformTrouble."""
    try:
        return publishing.post_all(study=study, platform=platform, step=step)
    except PlatformTrouble as trouble:
        if not trouble.again and take_back_launch(study=study, platform=platform, actor=actor):
            trouble.fix = f"{trouble.fix} {BACK}".strip()
            trouble.args = (f"{trouble.what} {trouble.fix}",)
        raise


def take_back_launch(*, study: Study, platform: Platform, actor: str) -> bool:
    """Make a live study a draft again. False, and nothing changes, if workers may have seen it anywhere."""
    for posting in Posting.objects.filter(study=study, platform=platform.name):
        if not _was_seen(study):
            platform.discard(posting)
    with transaction.atomic():
        now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if now.status not in (Study.Status.LIVE, Study.Status.PAUSED) or _was_seen(now):
            return False
        Posting.objects.filter(study=now).delete()
        HitItem.objects.filter(hit__study=now).delete()
        Hit.objects.filter(study=now).delete()
        now.arms.filter(name="").delete()
        now.status, now.live_at = Study.Status.DRAFT, None
        now.save(update_fields=["status", "live_at"])
        release_for(now)
        forget_launch(now)
        record(study=now, actor=actor, action="take back the launch", platform=platform.name)
    study.refresh_from_db()
    return True


def _was_seen(study: Study) -> bool:
    """Whether a worker may have seen the study: it was offered somewhere, or a call may have offered it."""
    offered = Posting.objects.filter(study=study).exclude(state=Posting.State.PLANNED).exists()
    unknown = PlatformCall.objects.filter(study=study, first_tried_at__isnull=False)
    unanswered = unknown.exclude(state=PlatformCall.State.DONE).exists()
    return offered or unanswered or Participant.objects.filter(study=study).exists()
