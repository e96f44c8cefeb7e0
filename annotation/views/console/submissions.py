"""Submissions: the list with flags, one submission in full, and people's decisions."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from annotation.instrument import Instrument
from annotation.models import Assignment, Flag, Review, Step, Study, Submission
from annotation.queries import submissions as queries
from annotation.services.reviews import review_submission
from annotation.views.console.answers import answered_pages, shown_items
from annotation.views.console.forms import ReviewForm
from annotation.views.console.page import SignedIn, member, query_without_page, say_refused, study_page
from common.numbers import whole_number
from common.problems import Refused

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
    arms = list(study.arms.values_list("name", flat=True))
    arm = request.GET.get("arm")
    arm = arm if len(arms) > 1 and arm in arms else None
    number = whole_number(request.GET.get("page", ""), least=1, most=10**9) or 1
    page, rows = queries.submission_page(study, number=number, show=chosen, pseudonym=worker, arm=arm)
    context = {
        "page": page,
        "rows": rows,
        "choices": FILTERS,
        "chosen": chosen,
        "worker": worker,
        "arms": arms if len(arms) > 1 else [],
        "arm": arm,
        "filters": query_without_page(request),
    }
    return study_page(request, study, "submissions.html", context, section="submissions")


@require_safe
@member()
def submission(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    found = get_object_or_404(
        Submission.objects.select_related("assignment__hit", "participant__arm").prefetch_related(
            Prefetch("flags", Flag.objects.order_by("pk")),
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
            Prefetch("assignment__steps", Step.objects.order_by("number")),
        ),
        pk=pk,
        study=study,
    )
    latest = next(iter(found.reviews.all()), None)
    instrument = Instrument.of(study, found.participant.arm)
    context = {
        "submission": found,
        "items": shown_items(found, instrument),
        "pages": answered_pages(found, instrument),
        "outputs": found.outputs.order_by("number"),
        "recorded": instrument.records_edits,
        "flagged": queries.flagged_place(study, found),
        "offers": found.assignment.offers.order_by("step", "number", "side"),
        "holds_place": found.assignment.state == Assignment.State.SUBMITTED,
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
    decision, release = Review.Decision(form.cleaned_data["decision"]), form.cleaned_data["release"]
    note = form.cleaned_data["note"]
    try:
        review_submission(submission=found, decision=decision, note=note, user=request.user, release=release)
    except Refused as refused:
        say_refused(request, refused)
        return redirect(back)
    messages.success(request, TOLD[decision, release and decision == Review.Decision.EXCLUDE])
    return redirect(back)


TOLD = {
    (Review.Decision.INCLUDE, False): "Included: reports and exports use this submission.",
    (Review.Decision.EXCLUDE, False): "Excluded: reports and exports leave this submission out. The data stay.",
    (Review.Decision.EXCLUDE, True): "Excluded, and the place is given out again. The data stay.",
}
