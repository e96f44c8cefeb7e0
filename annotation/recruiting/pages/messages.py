"""Writing to the workers of a study through the platform that they come from."""

from __future__ import annotations

import secrets

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Study
from annotation.platforms import PlatformTrouble, all_platforms, connect
from annotation.recruiting.messages import readers, write_to_workers
from annotation.recruiting.offered_work import posted_on
from annotation.shell.page import SignedIn, member, say_refused, study_page
from common.problems import Refused
from common.words import counted


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="owner", write="owner")
def write(request: SignedIn, study: Study) -> HttpResponse:
    """A form with subject and text. A POST sends the message, once however often the form is sent."""
    form = request.POST if request.method == "POST" else request.GET
    pseudonym = form.get("worker", "").replace("\x00", "")[:40]
    platform, participants = all_platforms().get(posted_on(study)), readers(study, pseudonym)
    if platform is None or not platform.writes or (pseudonym and not participants.exists()):
        raise Http404("There is nobody to write to.")
    if request.method == "POST" and _send(request, study, pseudonym):
        return (
            redirect("console_worker", study.slug, pseudonym)
            if pseudonym
            else redirect("console_platforms", study.slug)
        )
    context = {
        "platform": platform,
        "pseudonym": pseudonym,
        "readers": participants.count(),
        "subject": request.POST.get("subject", ""),
        "text": request.POST.get("text", ""),
        "key": request.POST.get("key", "") or secrets.token_hex(8),
    }
    status = 422 if request.method == "POST" else 200
    return study_page(request, study, "recruiting/write.html", context, section="platforms", status=status)


def _send(request: SignedIn, study: Study, pseudonym: str) -> bool:
    try:
        written = write_to_workers(
            study=study,
            pseudonym=pseudonym,
            subject=request.POST.get("subject", ""),
            text=request.POST.get("text", ""),
            key="".join(letter for letter in request.POST.get("key", "") if letter.isalnum())[:40],
            actor=request.user.get_username(),
            connect=connect,
        )
    except Refused as refused:
        say_refused(request, refused)
        return False
    except PlatformTrouble as trouble:
        messages.error(request, f"{trouble} Send it again: nobody gets it twice.")
        return False
    reached = written.workers - len(written.not_reached)
    messages.success(request, f"Sent to {counted(reached, 'worker')}.")
    if written.not_reached:
        shown = "; ".join(f"{name}: {reason}" for name, reason in list(written.not_reached.items())[:10])
        messages.warning(request, f"Not sent to {counted(len(written.not_reached), 'worker')}. {shown}")
    return True
