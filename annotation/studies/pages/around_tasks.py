"""The questionnaires of a study: what people are asked around their tasks, locked at the launch, and how it looks."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from annotation.instrument import Instrument, asked_around
from annotation.languages import speaking
from annotation.models import Item, Study
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.pages.questionnaire_forms import QuestionnairesPageForm
from annotation.studies.pages.stepper import stepper
from annotation.studies.spec import spec_of
from annotation.studies.storing import FROZEN_WHEN_LIVE, change_study
from annotation.task_types.questionnaires import COMPREHENSION, NAMES, TITLES
from annotation.work.pages.questionnaire import questionnaire_context
from annotation.work.pages.worker_page import page
from common.problems import Refused

STALE = (
    "Somebody else changed this study while you had this page open, so nothing was saved. What you entered is still "
    "here. Save again to replace their changes."
)


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def questionnaires(request: SignedIn, study: Study) -> HttpResponse:
    is_draft = study.status == Study.Status.DRAFT
    form = QuestionnairesPageForm(
        request.POST if request.method == "POST" else None, settings=spec_of(study).questionnaires
    )
    if not is_draft:
        for field in form.fields.values():
            field.disabled = True
    status = 200
    if request.method == "POST":
        if request.POST.get("version") != fingerprint(study):
            form.add_error(None, STALE)
            status = 409
        elif form.is_valid() and _save(study, form, request.user.get_username()):
            messages.success(request, "Saved.")
            return redirect("console_questionnaires", study.slug)
        else:
            status = 422
    asked = asked_around(study)
    context = {
        "form": form,
        "version": fingerprint(study),
        "n_training": study.items.filter(role=Item.Role.TRAINING).count(),
        "frozen": "" if is_draft else FROZEN_WHEN_LIVE["before"],
        "previews": [(name, TITLES[name], len(asked.questions(name))) for name in NAMES if asked.questions(name)],
        "steps": stepper(study, "settings") if is_draft else [],
        "problems": [
            (
                form[name].id_for_label if name in form.fields else "",
                str(form[name].label) if name in form.fields else "",
                error,
            )
            for name, errors in form.errors.items()
            for error in errors
        ],
    }
    return study_page(request, study, "studies/questionnaires.html", context, section="settings", status=status)


def _save(study: Study, form: QuestionnairesPageForm, actor: str) -> bool:
    try:
        change_study(study=study, questionnaires=form.settings(), actor=actor)
    except Refused as refused:
        for problem in refused.problems:
            name = problem.where if problem.where in form.fields else None
            form.add_error(name, f"{problem.what} {problem.fix}".strip())
        return False
    return True


@require_safe
@member()
def questionnaire_preview(request: SignedIn, study: Study, questionnaire: str) -> HttpResponse:
    """One questionnaire as workers see it. Nothing can be sent."""
    instrument = Instrument.of(study)
    if questionnaire not in NAMES or not instrument.asked.questions(questionnaire):
        raise Http404
    with speaking(instrument.voice):
        context = questionnaire_context(instrument, questionnaire, title=study.title, contact=study.contact)
        context |= {"preview": True, "tries_left": instrument.asked.tries if questionnaire == COMPREHENSION else 0}
        return page(str(context["template"]), context)
