"""Stopping for part pay, what is recorded about a worker, and asking for its deletion. No cookie, no JavaScript."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.people.own_record import entries, own_record
from annotation.people.redacting import ask_for_deletion
from annotation.tokens import read_participant_token
from annotation.work.pages.worker_page import SeeOther, page, workers_page
from common.cells import protect_cell
from common.csv_files import csv_text


@workers_page
@require_safe
def work_record(request: HttpRequest, token: str) -> HttpResponse:
    """What is recorded about the worker, why and for how long."""
    record = own_record(read_participant_token(token))
    study = record.participant.study
    context = {
        "study": study,
        "record": record,
        "some_unknown": any(earning.amount is None for earning in record.earned),
        "in_all": sum(
            (earning.amount or Decimal(0) for earning in record.earned if earning.state != "not approved"), Decimal(0)
        ),
        "redacted": record.participant.redacted_at,
        "work_url": reverse("work", args=[token]),
        "json_url": reverse("work_record_json", args=[token]),
        "csv_url": reverse("work_record_csv", args=[token]),
        "ask_url": reverse("work_ask_deletion", args=[token]),
    }
    return page("people/record.html", context)


@workers_page
@require_safe
def work_record_json(request: HttpRequest, token: str) -> HttpResponse:
    record = own_record(read_participant_token(token))
    rows = [
        {"about": entry.about, "what": entry.what, "at": _utc(entry.at) or None, "value": entry.value}
        for entry in entries(record.participant)
    ]
    text = json.dumps(rows, ensure_ascii=False, indent=1, cls=DjangoJSONEncoder)
    return _download(text, "application/json", "my-data.json")


@workers_page
@require_safe
def work_record_csv(request: HttpRequest, token: str) -> HttpResponse:
    record = own_record(read_participant_token(token))
    rows = [["about", "what", "at", "value"]]
    for entry in entries(record.participant):
        value = entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)
        rows.append([entry.about, entry.what, _utc(entry.at), protect_cell(value)])
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
