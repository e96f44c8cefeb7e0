"""What came in: the list with flags, one submission in full, and people's decisions."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Review, Step, Study, Submission
from annotation.queries import submissions as queries
from annotation.services.refusals import Refused
from annotation.services.reviews import review_submission
from annotation.views.console.answers import answered_steps, shown_items
from annotation.views.console.forms import ReviewForm
from annotation.views.console.page import SignedIn, member, query_without_page, say_refused, study_page

FILTERS = {
    "all": "All",
    "flagged": "Flagged",
    "excluded": "Excluded",
    "synthetic": "Simulated",
    "people": "People only",
}


@require_safe
@member()
def submissions(request: SignedIn, study: Study) -> HttpResponse:
    chosen = request.GET.get("show", "all")
    chosen = chosen if chosen in FILTERS else "all"
    worker = request.GET.get("worker", "").replace("\x00", "")[:40]
    number = request.GET.get("page", "1")
    page, rows = queries.submission_page(
        study, number=int(number) if number.isdecimal() else 1, show=chosen, pseudonym=worker
    )
    context = {
        "page": page,
        "rows": rows,
        "choices": FILTERS,
        "chosen": chosen,
        "worker": worker,
        "filters": query_without_page(request),
    }
    return study_page(request, study, "submissions.html", context, section="submissions")


@require_safe
@member()
def submission(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    found = get_object_or_404(
        Submission.objects.select_related("assignment__hit", "participant").prefetch_related(
            "flags",
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
            Prefetch("assignment__steps", Step.objects.order_by("number")),
        ),
        pk=pk,
        study=study,
    )
    latest = next(iter(found.reviews.all()), None)
    context = {
        "submission": found,
        "items": shown_items(found, study),
        "steps": answered_steps(found, study),
        "latest": latest,
        "excluded": latest is not None and latest.decision == Review.Decision.EXCLUDE,
        "form": ReviewForm(initial={"decision": latest.decision if latest else Review.Decision.INCLUDE}),
    }
    return study_page(request, study, "submission.html", context, section="submissions")


@require_POST
@member()
def review(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    found = get_object_or_404(Submission, pk=pk, study=study)
    form = ReviewForm(request.POST)
    back = request.POST.get("back", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = reverse("console_submission", args=[study.slug, pk])
    if not form.is_valid():
        messages.error(request, "Not saved: choose whether to use the submission; a note has at most 500 characters.")
        return redirect(back)
    decision = Review.Decision(form.cleaned_data["decision"])
    try:
        review_submission(submission=found, decision=decision, note=form.cleaned_data["note"], user=request.user)
    except Refused as refused:
        say_refused(request, refused)
        return redirect(back)
    messages.success(
        request,
        "Excluded: reports and exports leave this submission out, the data stay."
        if decision == Review.Decision.EXCLUDE
        else "Included: reports and exports use this submission.",
    )
    return redirect(back)
