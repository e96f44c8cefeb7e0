"""Stopping for part pay, what is recorded about a worker, and asking for its deletion. No cookie, no JavaScript."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.queries.own_record import entries, own_record
from annotation.services.redacting import ask_for_deletion
from annotation.services.stopping import stop_for_part_pay
from annotation.tokens import read_form_token, read_participant_token
from annotation.views.work_pages import SeeOther, page, workers_page
from common.cells import protect_cell
from common.csv_files import csv_text


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


@workers_page
@require_safe
def work_record(request: HttpRequest, token: str) -> HttpResponse:
    """What is recorded about the worker, why and for how long."""
    found = own_record(read_participant_token(token))
    study = found.participant.study
    context = {
        "study": study,
        "record": found,
        "some_unknown": any(each.amount is None for each in found.earned),
        "in_all": sum((each.amount or Decimal(0) for each in found.earned if each.state != "not approved"), Decimal(0)),
        "redacted": found.participant.redacted_at,
        "work_url": reverse("work", args=[token]),
        "json_url": reverse("work_record_json", args=[token]),
        "csv_url": reverse("work_record_csv", args=[token]),
        "ask_url": reverse("work_ask_deletion", args=[token]),
    }
    return page("annotation/record.html", context)


@workers_page
@require_safe
def work_record_json(request: HttpRequest, token: str) -> HttpResponse:
    found = own_record(read_participant_token(token))
    rows = [
        {"about": each.about, "what": each.what, "at": _utc(each.at) or None, "value": each.value}
        for each in entries(found.participant)
    ]
    text = json.dumps(rows, ensure_ascii=False, indent=1, cls=DjangoJSONEncoder)
    return _download(text, "application/json", "my-data.json")


@workers_page
@require_safe
def work_record_csv(request: HttpRequest, token: str) -> HttpResponse:
    found = own_record(read_participant_token(token))
    rows = [["about", "what", "at", "value"]]
    for each in entries(found.participant):
        value = each.value if isinstance(each.value, str) else json.dumps(each.value, ensure_ascii=False)
        rows.append([each.about, each.what, _utc(each.at), protect_cell(value)])
    return _download(csv_text(rows), "text/csv", "my-data.csv")


def _utc(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment else ""


def _download(text: str, content_type: str, name: str) -> HttpResponse:
    response = HttpResponse(text.encode("utf-8", "replace"), content_type=f"{content_type}; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@workers_page
@require_POST
def work_ask_deletion(request: HttpRequest, token: str) -> HttpResponse:
    """Tells the researchers that the worker wants their data deleted. Asking again changes nothing."""
    ask_for_deletion(participant_id=read_participant_token(token))
    return SeeOther(reverse("work_record", args=[token]) + "#deletion")
