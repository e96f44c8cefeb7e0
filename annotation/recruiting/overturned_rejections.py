"""What a rejection that was undone gives back: the submission's place on its hit, and its place in the analysis.

A rejected submission loses its place, and the place is offered again. If the rejection is undone before somebody else
has filled it, the submission gets it back, and what was offered for it and nobody has accepted is withdrawn. If the
rejection also excluded the submission, it is included again.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.models import Assignment, Hit, OutsideAssignment, Posting, Study, Submission
from annotation.platforms.listings import shares_listing
from annotation.recruiting.offered_work import USED
from annotation.work.allocation import free_slot
from annotation.work.excluding import include_forgiven
from annotation.work.left_out import excluded_submissions
from annotation.work.repeated_work import rated_before

State = Assignment.State
Outside = OutsideAssignment.State


@again_after_deadlock
@transaction.atomic
def restore_places(*, study: Study, platform: str, actor: str) -> list[int]:
    """Give approved submissions that were released their places back, while there are free ones. Returns the hits' ids.

    Submissions that a person excluded stay without a place.
    """
    excluded = Submission.objects.filter(study=study, pk__in=excluded_submissions(study))
    approved = excluded.filter(assignment__posting__platform=platform, assignment__outside__state=Outside.APPROVED)
    for submission in approved.order_by("pk"):
        include_forgiven(submission=submission, actor=actor)
    restored = []
    # Released work that the platform has approved, of the same worker, and that nobody excluded. Without work that was
    # released because its worker had rated one of its texts before.
    released = Assignment.objects.filter(posting__study=study, posting__platform=platform, state=State.RELEASED)
    without_place = released.filter(~rated_before(), outside__state=Outside.APPROVED, submission__isnull=False).exclude(
        submission__in=excluded_submissions(study)
    )
    for work in without_place.select_for_update(of=("self",), no_key=True).order_by("pk"):
        hit = Hit.objects.select_for_update(no_key=True).get(pk=work.hit_id)
        if hit.n_live >= hit.wanted:
            continue
        slot = free_slot(hit.pk, hit.n_live, preferred=work.slot)
        Assignment.objects.filter(pk=work.pk).update(state=State.SUBMITTED, extra=False, slot=slot)
        Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1, n_submitted=F("n_submitted") + 1)
        record(study=study, actor=actor, action="take back place", assignment=work.pk, why="rejection undone")
        restored.append(hit.pk)
    return restored


def surplus_postings(hit_ids: list[int], platform: str) -> list[Posting]:
    """Offered postings of these hits whose free places nobody needs: the hits have all submissions, confirmed by the
    platform, and nobody is working on them. In one listing of all arms, the places are for any hit that lacks one."""
    surplus: list[Posting] = []
    study = Study.objects.filter(hits__in=hit_ids[:1]).first()
    if study is not None and shares_listing(study, platform):
        hit_ids = (
            []
            if study.hits.filter(n_submitted__lt=F("wanted")).exists()
            else list(study.hits.values_list("pk", flat=True))
        )
    for hit in Hit.objects.filter(pk__in=hit_ids, n_submitted__gte=F("wanted")).order_by("pk"):
        submitted = Assignment.objects.filter(hit=hit, posting__platform=platform, state=State.SUBMITTED)
        working = Assignment.objects.filter(hit=hit, state=State.ACCEPTED)
        if submitted.filter(outside__state__in=USED).count() >= hit.wanted and not working.exists():
            open_now = Q(state__in=[Posting.State.OPEN, Posting.State.PAUSED])
            surplus += Posting.objects.filter(open_now, hit=hit, platform=platform).select_related("study", "hit")
    return surplus
