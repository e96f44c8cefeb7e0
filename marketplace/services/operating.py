"""What operators are, and what requesters decide on their pages, so that the log has it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from marketplace import access, clock
from marketplace.models import Assignment
from marketplace.services import assignments
from marketplace.services.log import record
from marketplace.services.refusals import Refused
from marketplace.services.upkeep import bring_up_to_date

_ACTIONS = {"approve": "work approved", "reject": "work rejected", "override": "rejection taken back"}


@transaction.atomic
def make_operator(*, user: User, actor: str) -> None:
    """May run the marketplace from now on. Doing it twice changes nothing."""
    if not access.is_operator(user):
        access.add_operator(user)
        record(actor=actor, action="operator made", about=user.get_username())


def review(*, assignment: Assignment, decision: str, feedback: str, actor: str) -> None:
    """What a requester decides on the page: approve, reject, or override (a rejection). Raises Refused."""
    bring_up_to_date(requester=assignment.hit.requester, now=clock.now())  # first: it commits HIT by HIT
    with transaction.atomic():
        if decision == "reject":
            if not feedback:
                raise Refused("Tell the worker why: a rejection costs them pay and record.")
            assignments.reject(assignment=assignment, feedback=feedback)
        elif decision in ("approve", "override"):
            assignments.approve(assignment=assignment, feedback=feedback, override=decision == "override")
        else:
            raise Refused("Choose whether to approve or to reject.")
        record(
            actor=actor,
            action=_ACTIONS[decision],
            about=assignment.assignment_id,
            requester=assignment.hit.requester,
            worker=assignment.worker,
            feedback=feedback,
        )
