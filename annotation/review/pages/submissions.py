"""Submissions: the list with flags, one submission in full, and people's decisions."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.quality_control.exclusion import Exclusion
from annotation.access import Capability, capabilities_in
from annotation.instrument import Instrument
from annotation.models import Assignment, Flag, PayDecision, Review, Step, Study, Submission
from annotation.platforms import changes_class, connect
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting.offered_work import posted_on
from annotation.recruiting.pay_states import PAY_STATES
from annotation.review import submission_lists
from annotation.review.bulk_decisions import ACTIONS, FOR_EDITORS
from annotation.review.pages.answers import answered_pages, shown_items
from annotation.review.pages.forms import ReviewForm, filter_of, query_of
from annotation.review.pay_decisions import decide_pay
from annotation.review.review_queue import compared_with_others, latest_actions, pay_view
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.work.excluding import review_submission
from annotation.work.left_out import excluded_by_rule
from common.numbers import whole_number
from common.problems import Refused

FILTERS = {
    "all": "All",
    "flagged": "Flagged",
    "excluded": "Excluded",
    "rules": "Excluded by rule",
    "extra": "Extra",
    "included": "Included",
    "comments": "With a comment",
    "synthetic": "Simulated",
    "people": "People only",
}


@require_safe
@member(answers=True)
def submissions(request: SignedIn, study: Study) -> HttpResponse:
    chosen_filter = filter_of(study, request.GET)
    arms = list(study.arms.values_list("name", flat=True))
    number = whole_number(request.GET.get("page", ""), least=1, most=10**9) or 1
    page, rows = submission_lists.submission_page(study, chosen_filter, number=number)
    capabilities = capabilities_in(study, request.user)
    hidden = {"file"} if changes_class(posted_on(study)).asks_back else {"file", "ask_back"}
    allowed = [
        name
        for name in ACTIONS
        if name not in hidden and (Capability.COLLECT if name in FOR_EDITORS else Capability.PAY) in capabilities
    ]
    context = {
        "page": page,
        "rows": rows,
        "choices": FILTERS,
        "which": chosen_filter,
        "other_shows": query_of(replace(chosen_filter, show="all")),
        "other_arms": query_of(replace(chosen_filter, arm=None)),
        "arms": arms if len(arms) > 1 else [],
        "filters": query_of(chosen_filter),
        "pay_states": PAY_STATES,
        "reasons": submission_lists.flag_reasons(study),
        "actions": {name: ACTIONS[name] for name in allowed},
        "latest": latest_actions(study.pk),
    }
    return study_page(request, study, "review/submissions.html", context, section="submissions")


@require_safe
@member(answers=True)
def submission(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    shown_submission = get_object_or_404(
        Submission.objects.select_related("study", "assignment__hit", "participant__arm").prefetch_related(
            Prefetch("flags", Flag.objects.order_by("pk")),
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
            Prefetch("assignment__steps", Step.objects.order_by("number")),
        ),
        pk=pk,
        study=study,
    )
    latest = next(iter(shown_submission.reviews.all()), None)
    instrument = Instrument.of(study, shown_submission.participant.arm)
    rules = excluded_by_rule(study, [shown_submission.participant_id]).get(shown_submission.pk, [])
    chosen_filter = filter_of(study, request.GET)
    queue = chosen_filter if chosen_filter.narrows else submission_lists.Filter(show="flagged")
    context = {
        "submission": shown_submission,
        "items": shown_items(shown_submission, instrument),
        "pages": answered_pages(shown_submission, instrument),
        "outputs": shown_submission.outputs.order_by("number"),
        "place": submission_lists.place_among(submission_lists.chosen(study, queue), shown_submission),
        "narrowed": chosen_filter.narrows,
        "which": chosen_filter,
        "filters": query_of(chosen_filter),
        "recorded": instrument.records_edits,
        "offers": shown_submission.assignment.offers.order_by("step", "number", "side"),
        "holds_place": shown_submission.assignment.state == Assignment.State.SUBMITTED,
        "latest": latest,
        "excluded": latest is not None and latest.decision == Review.Decision.EXCLUDE,
        "form": ReviewForm(initial={"decision": latest.decision if latest else Review.Decision.INCLUDE}),
        "pay": pay_view(shown_submission),
        "pay_states": PAY_STATES,
        "compared": compared_with_others(shown_submission),
        "by_rule": [words for key, words in Exclusion.of(study.exclusion).in_words() if key in rules],
    }
    return study_page(request, study, "review/submission.html", context, section="submissions")


@require_POST
@member(write="payer")
def decide(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """Approve one submission, reject it with a reason, or undo the rejection."""
    decided_submission = get_object_or_404(
        Submission.objects.select_related("study", "participant__worker", "assignment__posting"), pk=pk, study=study
    )
    decision, feedback = request.POST.get("decision", ""), request.POST.get("feedback", "")
    exclude = request.POST.get("exclude") == "on"
    try:
        decide_pay(
            submission=decided_submission,
            decision=decision,
            feedback=feedback,
            actor=request.user.get_username(),
            connect=connect,
            exclude=exclude,
        )
    except Refused as refused:
        say_refused(request, refused)
    except PlatformTrouble as trouble:
        messages.error(request, f"Not decided. {trouble}")
    else:
        if decision == PayDecision.Decision.APPROVE:
            done = "Approved. Whether the analysis uses the submission is decided separately."
        else:
            done = "Rejected. " + ("The analysis leaves it out." if exclude else "It stays in the analysis.")
        messages.success(request, done)
    return redirect(_back(request, study, pk))


def _back(request: SignedIn, study: Study, pk: int) -> str:
    """The address of the submission's page, with the filter of the list that the user came from."""
    query = query_of(filter_of(study, request.POST))
    return reverse("console_submission", args=[study.slug, pk]) + (f"?{query}" if query else "")


@require_POST
@member()
def review(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    reviewed_submission = get_object_or_404(Submission, pk=pk, study=study)
    form = ReviewForm(request.POST)
    back = _back(request, study, pk)
    if not form.is_valid():
        messages.error(request, "Not saved: choose whether to use the submission; a note has at most 500 characters.")
        return redirect(back)
    decision, release = Review.Decision(form.cleaned_data["decision"]), form.cleaned_data["release"]
    note = form.cleaned_data["note"]
    try:
        review_submission(
            submission=reviewed_submission, decision=decision, note=note, user=request.user, release=release
        )
    except Refused as refused:
        say_refused(request, refused)
        return redirect(back)
    messages.success(request, TOLD[decision, release and decision == Review.Decision.EXCLUDE])
    return redirect(back)


TOLD = {
    (Review.Decision.INCLUDE, False): "Included. The report uses this submission.",
    (Review.Decision.EXCLUDE, False): "Excluded. The report leaves this submission out; exports mark it as excluded.",
    (
        Review.Decision.EXCLUDE,
        True,
    ): "Excluded. Another worker can take its place. Exports mark it as excluded.",
}
