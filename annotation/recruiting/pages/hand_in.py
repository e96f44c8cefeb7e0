"""The page on which a worker hands finished work in to the platform that sent them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from annotation.instrument import live_instrument
from annotation.languages import gettext as _
from annotation.languages import money, speak
from annotation.models import Assignment
from annotation.platforms import platform_class
from annotation.recruiting.publishing import settings_of
from annotation.recruiting.qualifications import ask_to_grant, is_granted
from annotation.tokens import Seat, read_seat
from annotation.work.due_questionnaires import due_after
from annotation.work.hourly_pay import exact_sum
from annotation.work.pages.done import NOTICES, done_page
from annotation.work.pages.terms import payment_words
from annotation.work.pages.turned_away import turned_away_page
from annotation.work.pages.worker_page import SeeOther, message, page, workers_page
from annotation.work.standing import summary

State = Assignment.State
#: A questionnaire must not cost anybody the time that they need to hand their work in.
TIME_TO_HAND_IN = timedelta(minutes=3)


def _work_and_earnings() -> QuerySet[Any]:
    """Assignments, each with ``n_sent``, how many its participant has sent in the study, and ``earns``, the sum of the
    rewards of these in USD."""
    submitted = Assignment.objects.filter(
        participant=OuterRef("participant"), state__in=(State.SUBMITTED, State.RELEASED)
    )
    by_participant = submitted.order_by().values("participant")
    return Assignment.objects.select_related("hit__study", "participant__worker", "posting").annotate(
        n_sent=Subquery(by_participant.annotate(n=Count("pk")).values("n")),
        earns=Subquery(by_participant.annotate(sum=Sum("hit__reward")).values("sum")),
    )


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def hand_in_page(request: HttpRequest, token: str, seat: Seat) -> HttpResponse:
    """The page that reports work to the platform after it is saved here. Loading and sending it again does no harm."""
    work = _work_and_earnings().get(pk=seat.assignment or 0, participant=seat.participant)
    study = work.hit.study
    speak(study.voice())
    task = _(platform_class(work.posting.platform).task if work.posting else "task")
    if (ended := _ended_page(token, work, task)) is not None:
        return ended
    if work.state == State.ACCEPTED:
        return SeeOther(reverse("work", args=[token]))
    assert work.posting is not None  # noqa: S101 - only a posting's assignments have such a seat
    asked = live_instrument(work.participant.arm_id).asked
    is_due = not work.participant.redacted_at and due_after(work.participant_id, asked) is not None
    last_url = reverse("work_questions", args=[token]) if is_due else ""
    if last_url and _is_last(work) and work.expires_at > timezone.now() + TIME_TO_HAND_IN:
        return SeeOther(last_url)
    platform = platform_class(work.posting.platform)
    finish = platform.finish(work, settings_of(study, platform))
    context: dict[str, Any] = {
        "last_url": last_url,
        "title": study.title,
        "contact": study.contact,
        "finish": finish,
        "platform": platform,
    }
    pays = max(work.posting.pays, work.hit.reward) if work.posting.one_listing else work.posting.pays
    earned = (
        _("You earn %(amount)s for this %(task)s once it is approved.") % {"amount": money(pays), "task": task}
        if pays
        else ""
    )
    if pays and work.n_sent > 1:
        together = _("With your earlier work in this study, that makes %(amount)s.")
        earned += " " + together % {"amount": money(exact_sum(work.earns))}
    context |= {"pays": pays, "earned": earned}
    context["payment"] = payment_words(study.pay_note, study.platforms, platform, pays=pays > 0)
    context["record_url"] = reverse("work_record", args=[token])
    if finish.form_url and ask_to_grant(work):
        context["ready_url"] = reverse("work_ready", args=[token])
    response = page("recruiting/hand_in.html", context)
    response.form_sites = [origin(finish.form_url)] if finish.form_url else []  # type: ignore[attr-defined]
    return response


def _ended_page(token: str, work: Assignment, task: str) -> HttpResponse | None:
    """For work that ended without being sent; None for other work."""
    contact = work.hit.study.contact
    if work.participant.turned_away and work.state in (State.STOPPED, State.RETURNED, State.ABANDONED):
        if work.posting is None:
            return turned_away_page(token, work.participant_id)
        platform = platform_class(work.posting.platform)
        settings = settings_of(work.hit.study, platform)
        back = platform.way_back(work.posting, settings, work.participant.turned_away or "")
        return turned_away_page(token, work.participant_id, platform=platform, way_back=back)
    if work.state == State.STOPPED:
        # The platform still has their assignment, and pays it only when it is finished.
        lines = (
            _("You are owed %(amount)s for the steps that you sent. The researchers pay it separately.")
            % {"amount": money(work.part_payment.amount)},
            _(
                "Please return the %(task)s on the site where you accepted it. If you write to the researchers about "
                "your pay, give them this code: %(code)s"
            )
            % {"task": task, "code": work.participant.completion_code},
        )
        return message(_("You have stopped this %(task)s") % {"task": task}, *lines, status=200, contact=contact)
    if work.state in (State.RETURNED, State.ABANDONED):
        returned = work.state == State.RETURNED
        heading = _("You have returned this %(task)s") if returned else _("The time for this %(task)s was up")
        return message(
            heading % {"task": task},
            _("What you wrote is saved, but it does not count."),
            status=409,
            contact=contact,
        )
    return None


def _is_last(work: Any) -> bool:
    """Whether there is no further task for this participant. A row of `_work_and_earnings`."""
    most = work.hit.study.hits_per_worker
    return (most is not None and work.n_sent >= most) or not summary(work.participant_id).may_go_on


@workers_page
@require_http_methods(["GET"])
def work_ready(request: HttpRequest, token: str) -> HttpResponse:
    """204 if the platform knows what this work means for what its worker is offered next; 202 if it does not yet."""
    seat = read_seat(token)
    rows = Assignment.objects.select_related("hit__study", "participant__worker", "posting")
    work = rows.get(pk=seat.assignment or 0, participant=seat.participant)
    return HttpResponse(status=204 if is_granted(work) else 202)


@workers_page
@require_http_methods(["GET", "HEAD"])
def work_done(request: HttpRequest, token: str) -> HttpResponse:
    notice = next((notice for name, notice in NOTICES.items() if name in request.GET), None)
    seat = read_seat(token)
    if seat.assignment is not None:
        return hand_in_page(request, token, seat)
    return done_page(token, seat.participant, notice=notice)
