"""The list of studies, and one study: its progress, its status, its links and its activity."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.console.pages.forms import InviteParticipantsForm, PersonalLinksForm
from annotation.instrument import asked_around
from annotation.models import Invitation, Participant, PlatformJob, Study
from annotation.people.invitations import invite, invite_participants
from annotation.people.redacting import open_requests
from annotation.platforms import PlatformTrouble, all_platforms, link, platform_class
from annotation.platforms.paying_accounts import paying_account
from annotation.recruiting import changing_offers
from annotation.recruiting.offered_work import objections, posted_on
from annotation.results.answers_around_tasks import turned_away
from annotation.review.progress import ArmRow, arm_rows
from annotation.review.study_progress import study_progress
from annotation.shell.charts import hourly_bars
from annotation.shell.page import (
    SignedIn,
    member,
    page_of,
    rights,
    say_refused,
    signed_in,
    study_page,
    task_title,
)
from annotation.studies import storing as service
from annotation.studies import studies_list
from annotation.studies.pages.stepper import stepper
from annotation.work import repeated_work
from annotation.work.training_rounds import training_size
from common.problems import Refused
from common.words import counted

Status = Study.Status
POLLED = (Status.LIVE, Status.PAUSED)
#: How often an open page of a study asks for its progress: one more second for every so many submissions, because more
#: of them come from more workers.
POLL_SECONDS, MOST_POLL_SECONDS, SUBMISSIONS_PER_SECOND = 4, 20, 25_000


@require_safe
@signed_in
def studies(request: SignedIn) -> HttpResponse:
    page = page_of(studies_list.listed_studies(request.user), request, 30)
    rows = [(study, task_title(study.task_type)) for study in page]
    return render(request, "console/studies.html", {"rows": rows, "page": page, "here": "studies"})


@require_safe
@member()
def overview(request: SignedIn, study: Study) -> HttpResponse:
    if study.status == Status.DRAFT:
        return study_page(request, study, "console/draft.html", {"steps": stepper(study, "")}, section="overview")
    platform, arms = posted_on(study), arm_rows(study)
    context = progress_context(study, arms=arms, posted=bool(platform)) | {
        "study_url": link.study_url(study),
        "invited": study.access == Study.Access.INVITED,
        "offered_on": all_platforms().get(platform),
        "payer": paying_account(study, platform),
        "rewards": arms,
        "asked_for_deletion": open_requests(study),
        "objections": objections(study),
    }
    return study_page(request, study, "console/study.html", context, section="overview")


@require_safe
@member()
def progress_fragment(request: SignedIn, study: Study) -> HttpResponse:
    """The part that the study page fetches every few seconds. When the status changes, the whole page reloads."""
    if request.GET.get("status", study.status) != study.status:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    context = {"study": study} | rights(study, request.user) | progress_context(study)
    return render(request, "console/_progress.html", context)


def progress_context(
    study: Study, *, arms: Sequence[ArmRow] | None = None, posted: bool | None = None
) -> dict[str, object]:
    progress = study_progress(study, arms=arms, posted=posted)
    return {
        "progress": progress.figures,
        "bars": hourly_bars(progress.figures.per_hour),
        "polled": study.status in POLLED,
        "poll_seconds": poll_seconds(progress.figures.submitted),
        "minimum_pay": settings.MINIMUM_HOURLY_PAY,
        "fairness": progress.fairness,
        "comments": progress.comments,
        "counted_at": progress.counted_at,
        "behind": progress.behind,
        "turned_away": turned_away(study) if asked_around(study).gates or training_size(study) else {},
    }


def poll_seconds(submitted: int) -> int:
    return min(max(POLL_SECONDS, submitted // SUBMISSIONS_PER_SECOND), MOST_POLL_SECONDS)


@require_safe
@member(answers=True)
def activity(request: SignedIn, study: Study) -> HttpResponse:
    context = {"page": page_of(studies_list.latest_entries(study), request)}
    return study_page(request, study, "console/activity.html", context, section="activity")


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor", write="editor")
def personal_links(request: SignedIn, study: Study) -> HttpResponse:
    """Makes personal links for names or for the participants of another study. The same person keeps their link."""
    posted = request.POST if request.method == "POST" else None
    names = PersonalLinksForm(posted if posted and "names" in posted else None)
    others = InviteParticipantsForm(posted if posted and "of" in posted else None, user=request.user, study=study)
    actor = request.user.get_username()
    try:
        if names.is_valid():
            created = invite(study=study, names=names.cleaned_data["names"], actor=actor)
            return _links_made(request, study, created)
        if others.is_valid():
            created = invite_participants(study=study, of=others.cleaned_data["of"], actor=actor)
            return _links_made(request, study, created)
    except Refused as refused:
        form = names if names.is_bound else others
        form.add_error(None, [f"{problem.what} {problem.fix}".strip() for problem in refused.problems])
    invitations = Invitation.objects.filter(study=study).select_related("study").order_by("pk")
    context = {
        "form": names,
        "others": others,
        "links": [(invitation.name, link.personal_url(invitation)) for invitation in invitations],
        "n_started": Participant.objects.filter(study=study, worker__invitations__study=study).count(),
        "invited": study.access == Study.Access.INVITED,
    }
    status = 422 if names.errors or others.errors else 200
    return study_page(request, study, "console/links.html", context, section="overview", status=status)


def _links_made(request: SignedIn, study: Study, created: Sequence[Invitation]) -> HttpResponse:
    ready = "is ready" if len(created) == 1 else "are ready"
    text = f"{counted(len(created), 'personal link')} {ready}." if created else "Nobody took part in that study."
    (messages.success if created else messages.warning)(request, text)
    return redirect("console_links", study.slug)


def _change_status(done: str, act: Callable[..., object]) -> Callable[..., HttpResponseBase]:
    @require_POST
    @member()
    def view(request: SignedIn, study: Study) -> HttpResponse:
        try:
            job = act(study=study, actor=request.user.get_username())
        except Refused as refused:
            say_refused(request, refused)
        except PlatformTrouble as trouble:
            messages.success(request, done)
            messages.warning(request, f"Nothing changed on the platform. {trouble}")
        else:
            messages.success(request, done)
            if isinstance(job, PlatformJob):
                title = platform_class(job.platform).title
                messages.info(request, f"The same is being done on {title}. The Platforms page shows the result.")
        return redirect("console_study", study.slug)

    return view


reopen_repeats = _change_status(
    "The places of repeated work are open again. On a platform, the next sync offers them.",
    repeated_work.reopen_repeats,
)
pause = _change_status(
    "Paused: nobody gets new work. Workers can finish the hit they are on.", changing_offers.pause_everywhere
)
resume = _change_status("Live again.", changing_offers.resume_everywhere)
close = _change_status("Closed: no new work is given out. Workers can finish the hit they are on.", service.close_study)


@require_POST
@member(write="owner")
def delete(request: SignedIn, study: Study) -> HttpResponse:
    title = study.title
    try:
        service.delete_draft(study=study, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_study", study.slug)
    messages.success(request, f"Deleted the draft “{title}”.")
    return redirect("console_studies")
