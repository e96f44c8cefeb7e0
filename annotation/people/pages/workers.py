"""One worker of a study: everything they sent, how they compare with others, and excluding them in one step."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Capability, capabilities_in
from annotation.models import DeletionRequest, Flag, Participant, Study
from annotation.people.own_answers import answers_around, answers_tried
from annotation.people.pages.forms import ExcludeWorkerForm
from annotation.people.worker_figures import agreement_with_others, exclusion_effect, worker_figures
from annotation.recruiting.messages import readers
from annotation.review import submission_lists
from annotation.review.payments_due import rows_of
from annotation.review.review_queue import in_reasons
from annotation.shell.page import SignedIn, member, query_without_page, say_refused, study_page
from annotation.work.coded_items import has_left
from annotation.work.excluding import exclude_worker, include_worker
from common.problems import Refused
from common.words import counted


@require_safe
@member(answers=True)
def worker(request: SignedIn, study: Study, pseudonym: str) -> HttpResponse:
    participant = _participant(study, pseudonym)
    number = request.GET.get("page", "1")
    page, rows = submission_lists.submission_page(
        study,
        submission_lists.Filter(pseudonym=pseudonym),
        number=int(number) if number.isdecimal() and len(number) < 10 else 1,
    )
    owed = rows_of(study, [participant])
    context = {
        "worker": participant,
        "left": has_left(participant),
        "figures": worker_figures(participant),
        "agreement": agreement_with_others(study, participant),
        "around": answers_around(participant),
        "tries": answers_tried(participant),
        "payment": owed[0] if owed else None,
        "asked": DeletionRequest.objects.filter(participant=participant, done_at=None).first(),
        "can_write": Capability.MANAGE in capabilities_in(study, request.user) and readers(study, pseudonym).exists(),
        "page": page,
        "rows": rows,
        "filters": query_without_page(request),
    }
    return study_page(request, study, "people/worker.html", context, section="submissions")


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor")
def exclude(request: SignedIn, study: Study, pseudonym: str) -> HttpResponse:
    """Shows the effect of excluding the worker. A POST excludes everything that they sent; they get no more hits."""
    participant = _participant(study, pseudonym)
    flags = Flag.objects.filter(submission__participant=participant)
    suggested = {"note": in_reasons(flags)}
    form = ExcludeWorkerForm(request.POST if request.method == "POST" else None, initial=suggested)
    if form.is_valid():
        note, release = form.cleaned_data["note"], form.cleaned_data["release"]
        try:
            count = exclude_worker(participant=participant, note=note, user=request.user, release=release)
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_exclude_worker", study.slug, pseudonym)
        places = " Their places are open to other workers." if release and count else ""
        what = f"{pseudonym} is excluded, with {counted(count, 'submission')}.{places} The data stay."
        messages.success(request, what)
        return redirect("console_worker", study.slug, pseudonym)
    context = {"worker": participant, "effect": exclusion_effect(participant), "form": form}
    status = 422 if form.errors else 200
    return study_page(request, study, "people/exclude_worker.html", context, section="submissions", status=status)


@require_POST
@member()
def include(request: SignedIn, study: Study, pseudonym: str) -> HttpResponse:
    """Undoes the exclusion: the worker can get hits again, and their submissions count again."""
    participant = _participant(study, pseudonym)
    try:
        count = include_worker(participant=participant, note="", user=request.user)
    except Refused as refused:
        say_refused(request, refused)
    else:
        what = f"{pseudonym} can take hits again, and {counted(count, 'submission')} of theirs "
        messages.success(request, f"{what}{'is' if count == 1 else 'are'} used again.")
    return redirect("console_worker", study.slug, pseudonym)


def _participant(study: Study, pseudonym: str) -> Participant:
    return get_object_or_404(
        Participant.objects.select_related("arm", "study", "worker"), study=study, pseudonym=pseudonym
    )
