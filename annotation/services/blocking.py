"""Blocks a worker: on the platform that they came from, and in the study."""

from __future__ import annotations

from collections.abc import Callable

from annotation.models import Participant
from annotation.platforms.base import Platform
from annotation.queries.pay_states import paying
from annotation.services.audit import record
from annotation.services.platform_calls import make_all
from annotation.task_types.questions import clean_text
from common.problems import invalid


def block_worker(*, participant: Participant, reason: str, actor: str, connect: Callable[[str], Platform]) -> None:
    """Block the worker on their platform from all work of this account. A link has nothing to block.

    To exclude them from the study, use ``services.reviews``. The worker may read ``reason``. Raises Invalid,
    PlatformTrouble.
    """
    reason = clean_text(reason).strip()
    if not reason:
        raise invalid("reason", "There is no reason.", "Write why, as the worker reads it.")
    worker, study = participant.worker, participant.study
    if worker.platform not in paying():
        return
    platform = connect(worker.platform)
    make_all(
        platform.block(worker.platform_id, reason=reason),
        platform,
        study=study,
        posting=None,
        done=lambda results: record(study=study, actor=actor, action="block worker", worker=participant.pseudonym),
    )
