"""Deleting a worker's data: what that would remove, and the button that does it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import Role, studies_of
from annotation.models import DeletionRequest, Participant, Study
from annotation.people.redacting import Redacted, participations, preview, redact
from annotation.shell.page import SignedIn, member, page_of, say_refused, study_page
from common.problems import Refused
from common.words import counted


@require_safe
@member(read="owner")
def requests(request: SignedIn, study: Study) -> HttpResponse:
    """Who asked for the deletion of their data, those still waiting first."""
    rows = DeletionRequest.objects.filter(participant__study=study).select_related("participant")
    context = {"page": page_of(rows.order_by("done_at", "asked_at"), request)}
    return study_page(request, study, "people/deletion_requests.html", context, section="submissions")


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="owner", write="owner")
def delete_data(request: SignedIn, study: Study, pseudonym: str) -> HttpResponse:
    """GET: what would be removed. POST, with the box ticked: removes it."""
    participants = Participant.objects.select_related("study", "worker", "arm")
    participant = get_object_or_404(participants, study=study, pseudonym=pseudonym)
    owned = list(studies_of(request.user, Role.OWNER).values_list("pk", flat=True))
    others = participations(participant, owned)[1:]
    unconfirmed = request.method == "POST" and request.POST.get("sure") != "yes"
    if request.method == "POST" and not unconfirmed:
        chosen = [participant, *(others if request.POST.get("everywhere") == "yes" else [])]
        try:
            done = redact(participants=chosen, actor=request.user.get_username())
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_delete_data", study.slug, pseudonym)
        messages.success(request, f"The data of {pseudonym} are deleted in {counted(len(done.studies), 'study')}.")
        for warning in warnings(done):
            messages.warning(request, warning)
        participant.refresh_from_db()
        return redirect("console_worker", study.slug, participant.pseudonym)
    context = {
        "worker": participant,
        "preview": preview(participant),
        "others": others,
        "unconfirmed": unconfirmed,
    }
    status = 422 if unconfirmed else 200
    return study_page(request, study, "people/delete_worker_data.html", context, section="submissions", status=status)


def warnings(done: Redacted) -> list[str]:
    """What a person still has to look at after a deletion."""
    lines = []
    if done.left:
        places = ", ".join(f"{column.table}.{column.column} ({column.rows:,})" for column in done.left)
        lines.append(f"One of this worker's texts or names is also in other rows: {places}. Look at them.")
    if done.copies:
        copies = counted(len(done.copies), "copy")
        lines.append(f"{copies} of the database on this server still contain the data: manage.py backup --outdated")
    if not done.overwritten:
        lines.append("Old content may remain in the database's file. Repeat: manage.py study redact --vacuum")
    return lines
