"""The hits behind a posting: which one a worker gets, and whose place, if a platform gives out one that is taken."""

from __future__ import annotations

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.instrument import check_items
from annotation.models import Assignment, Hit, Item, ItemAuthor, Participant, Posting, TakenItem
from annotation.platforms import platform_class
from annotation.work.allocation import NotAdmitted
from annotation.work.cancelling_offers import cancel_offers
from annotation.work.ending import reclaim_expired
from annotation.work.free_hits import Seeker, layer_of

State = Assignment.State
SENT = (State.SUBMITTED, State.RELEASED, State.STOPPED)
HELD = (State.ACCEPTED, *SENT)


def free_hit_of(participant: Participant, posting: Posting) -> Hit:
    """The hit for this worker with the fewest ratings, locked, with a place for one more. Raises NotAdmitted.

    A platform that confirms its workers gives out exactly the places that were asked for. So if none is free here,
    somebody's work has ended there. Other sites may send more people than there are places.
    """
    hits = _hits_for(participant, posting)
    hit = _best_free(hits, participant)
    if hit is None:
        reclaim_expired(study_id=posting.study_id)
        # Others may hold the last free hits only for a moment. Wait for them before deciding that none is left.
        hit = _first_free(hits) or _first_free(hits, wait=True) or _first_free(hits, wait=True)
    if hit is not None:
        return hit
    if posting.hit_id is not None:
        # If some are free for others, those still fill the places.
        free = hits_of(posting).filter(n_live__lt=F("wanted"))
        if free.filter(arm=participant.arm_id).exists():
            raise NotAdmitted("limit" if participant.assignments.exists() else "own_text")
        if free.exists():
            raise NotAdmitted("other_arm")
    busy = Assignment.objects.filter(_given_out_with(posting), state=State.ACCEPTED, hit__in=hits)
    oldest = busy.order_by("accepted_at", "pk").values_list("hit", flat=True).first()
    if not platform_class(posting.platform).confirms or not (oldest or hits.exists()):
        raise NotAdmitted("taken")
    return posted_hit(oldest or hits.order_by("n_live", "position").values_list("pk", flat=True)[0], posting)


def posted_hit(hit_id: int, posting: Posting) -> Hit:
    """The hit that was posted, locked, with a place for one more."""
    hit = Hit.objects.select_for_update(no_key=True).get(pk=hit_id)
    if hit.n_live >= hit.wanted:
        make_room(hit, posting)
        hit.refresh_from_db()
    return hit


def hits_of(posting: Posting) -> QuerySet[Hit]:
    """The hits that a posting for several hits offers."""
    hits = Hit.objects.filter(study=posting.study_id)
    return hits if posting.reward is None or posting.one_listing else hits.filter(reward=posting.reward)


def _hits_for(participant: Participant, posting: Posting) -> QuerySet[Hit]:
    """The posting's hits that the worker may do: in their arm, not sent before, with no text of their own and no text
    that they have had in another hit."""
    had = Assignment.objects.filter(hit=OuterRef("pk"), participant=participant, state__in=HELD)
    written_by_them = ItemAuthor.objects.filter(item__places__hit=OuterRef("pk"), worker=participant.worker_id)
    text = TakenItem.objects.filter(
        participant=participant, item__role=Item.Role.MAIN, item__places__hit=OuterRef("pk")
    )
    return hits_of(posting).filter(~Exists(had), ~Exists(written_by_them), ~Exists(text), arm=participant.arm_id)


def _best_free(hits: QuerySet[Hit], participant: Participant) -> Hit | None:
    """A free hit of the worker's layer if there is one, and one without a gold or attention item that they have had."""
    items_had = TakenItem.objects.filter(participant=participant, item__places__hit=OuterRef("pk"))
    seeker = Seeker(participant.pk, participant.arm_id, None, participant.arm.shares_items)
    layer = layer_of(seeker) if seeker.shares_items else None
    for chosen in (hits.filter(layer=layer), hits) if layer is not None else (hits,):
        for candidates in (chosen.filter(~Exists(items_had)), chosen) if check_items(participant.arm_id) else (chosen,):
            hit = _first_free(candidates)
            if hit is not None:
                return hit
    return None


def _first_free(hits: QuerySet[Hit], *, wait: bool = False) -> Hit | None:
    """A hit with a free place, locked. ``wait``: also wait for hits that others are giving out."""
    skip = connection.features.has_select_for_update_skip_locked and not wait
    free = hits.filter(n_live__lt=F("wanted")).order_by("held", "n_live", "position")
    return free.select_for_update(skip_locked=skip, of=("self",), no_key=True).first()


def make_room(hit: Hit, posting: Posting) -> None:
    """The platform gave out a place that is taken here, so the assignment in progress longest has ended there.

    That is a guess: see `take_back`. If all were sent, one of them never reached the platform, and there will be one
    submission more than wanted.
    """
    working = Assignment.objects.filter(_given_out_with(posting), hit=hit, state=State.ACCEPTED, extra=False)
    oldest = working.select_for_update(of=("self",), no_key=True).order_by("accepted_at", "pk").first()
    if oldest is not None:
        end_work(oldest, State.ABANDONED)
    else:
        Hit.objects.filter(pk=hit.pk).update(wanted=F("wanted") + 1)


def _given_out_with(posting: Posting) -> Q:
    """Assignments that the platform may have ended if it gives out a place of this posting: those of its listing.

    People who came by the study's link, before it was offered on the platform, have nothing to do with it.
    """
    in_listing = posting.hit_id is not None and posting.gives_any_hit
    return Q(posting__platform=posting.platform) if in_listing else Q(posting=posting)


def end_work(assignment: Assignment, state: str) -> None:
    ended = Assignment.objects.filter(pk=assignment.pk, state=State.ACCEPTED)
    if ended.update(state=state, ended_at=timezone.now(), extra=False):
        if not assignment.extra:
            Hit.objects.filter(pk=assignment.hit_id).update(n_live=F("n_live") - 1)
        cancel_offers(assignments=[assignment.pk])
