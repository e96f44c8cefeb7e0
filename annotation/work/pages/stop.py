"""Stopping in the middle of a task, for part pay."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.tokens import read_form_token, read_participant_token
from annotation.work.pages.worker_page import SeeOther, workers_page
from annotation.work.part_pay import stop_for_part_pay


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_stop(request: HttpRequest, token: str) -> HttpResponse:
    """POST: ends the task for part of its reward. Pressing the button twice changes nothing."""
    participant_id = read_participant_token(token)
    if request.method != "POST":
        return SeeOther(reverse("work", args=[token]))
    form = read_form_token(request.POST.get("form", ""))
    if stop_for_part_pay(assignment_id=form.assignment, participant_id=participant_id) is None:
        return SeeOther(reverse("work", args=[token]))
    return SeeOther(reverse("work_done", args=[token]) + "?stopped")
