"""The ways into a study: its start page and its preview. Looking at either writes nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.access import study_for
from annotation.instrument import Instrument, item_data
from annotation.models import Study
from annotation.platforms.link import PLATFORM
from annotation.queries.work import participant_of, study_by_slug
from annotation.services.allocation import enrol
from annotation.task_types.base import StepSpec
from annotation.tokens import participant_token, read_invite_token, read_start_token, start_token
from annotation.views.work_pages import SeeOther, message, page, workers_page

DISAGREED = "Please tick this box if you agree. If you do not, simply close this page."


@dataclass(frozen=True, slots=True)
class Visit:
    """Who asks for a study's page: ``k`` is the token of a personal link, ``name`` the platform id it stands for."""

    study: Study
    k: str = ""
    name: str = ""

    @property
    def url(self) -> str:
        return reverse("study_start", args=[self.study.slug]) + self.query()

    def query(self, mark: str = "?") -> str:
        return mark + urlencode({"k": self.k}) if self.k else ""


def _visit(request: HttpRequest, slug: str) -> Visit:
    study = study_by_slug(slug)
    k = request.POST.get("k") or request.GET.get("k") or ""
    return Visit(study, k, f"invited-{read_invite_token(k, study.pk)}" if k else "")


# --- start ---


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def study_start(request: HttpRequest, slug: str) -> HttpResponse:
    visit = _visit(request, slug)
    study = visit.study
    known = participant_of(study, PLATFORM, visit.name) if visit.name else None
    work_url = reverse("work", args=[participant_token(known)]) if known else ""
    if study.status == Study.Status.DRAFT or (study.status != Study.Status.LIVE and not known):
        return _not_open(study)
    if study.access == Study.Access.INVITED and not visit.name:
        return _by_invitation(study)
    if request.method != "POST":
        return _start_page(visit, start=start_token(study.pk), go_on_url=work_url)
    if known:
        return SeeOther(work_url)
    start = request.POST.get("start", "")
    name = visit.name or read_start_token(start, study.pk)
    if study.consent and request.POST.get("agree") != "yes":
        return _start_page(visit, start=start, disagreed=True)
    participant = enrol(study=study, platform=PLATFORM, platform_id=name, consented=bool(study.consent))
    return SeeOther(reverse("work", args=[participant_token(participant.pk)]))


def _start_page(visit: Visit, *, start: str, go_on_url: str = "", disagreed: bool = False) -> HttpResponse:
    study = visit.study
    context = {
        "study": study,
        "instructions": Instrument.of(study).texts["instructions"],
        "start": start,
        "k": visit.k,
        "preview_url": reverse("study_preview", args=[study.slug]) + visit.query(),
        "go_on_url": go_on_url,
        "problems": [("agree", "Taking part:", DISAGREED)] if disagreed else [],
    }
    return page("annotation/start.html", context, status=422 if disagreed else 200)


def _not_open(study: Study) -> HttpResponse:
    if study.status == Study.Status.DRAFT:
        return message("This study is not open yet", "Please look again later.", status=403)
    if study.status == Study.Status.PAUSED:
        return message(
            "This study is paused",
            "Nothing new is given out at the moment. Please look again later.",
            "If you have started already, open the address of your own page: what you were working on can be sent.",
            status=403,
            contact=study.contact,
        )
    return message(
        "This study is closed",
        "Thank you for your interest. Nothing new is given out any more.",
        "If you have taken part, you find your completion code at the address of your own page.",
        status=410,
        contact=study.contact,
    )


def _by_invitation(study: Study) -> HttpResponse:
    return message(
        "This study is by invitation",
        "You need the personal link that was sent to you. Open that link, and check that you have all of it.",
        status=403,
        contact=study.contact,
    )


# --- preview ---


@workers_page
@require_http_methods(["GET", "HEAD"])
def study_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """The real pages with one real item, nothing to be sent. A draft's are for its members alone."""
    visit = _visit(request, slug)
    study = visit.study
    if not _may_preview(request, visit):
        return _by_invitation(study) if study.status == Study.Status.LIVE else _not_open(study)
    specs = preview_steps(study, items=1)
    if not specs:
        return message("There is nothing to preview yet", "This study has no items.", status=404)
    wanted = request.GET.get("step", "1")
    at = int(wanted) if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted[:4]) <= len(specs) else 1
    context = preview_context(study, specs[at - 1], at=at, steps=len(specs))
    return page(specs[at - 1].template, context | {"start_url": visit.url, "key": visit.query("&")})


def _may_preview(request: HttpRequest, visit: Visit) -> bool:
    study = visit.study
    if study.status in (Study.Status.LIVE, Study.Status.PAUSED) and (study.access == Study.Access.OPEN or visit.name):
        return True
    # Only who has signed in to the console sends this cookie; for all others no session is ever looked for.
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    try:
        return bool(study_for(request.user, study.slug))
    except Http404:
        return False


def preview_steps(study: Study, *, items: int) -> list[StepSpec]:
    """The pages of a hit of the first ``items`` items, arranged as for a first worker; none where there is no item."""
    found = [item_data(item) for item in study.items.order_by("position")[:items]]
    if not found:
        return []
    instrument = Instrument.of(study)
    rng = random.Random(study.seed)  # noqa: S311 - every visitor is to see the same preview
    order = instrument.task.arrange(found, instrument.config, slot=0, rng=rng)
    return instrument.steps(instrument.shown(found, order))


def preview_context(study: Study, spec: StepSpec, *, at: int, steps: int) -> dict[str, Any]:
    """What a step's template needs to be looked at. The caller adds ``start_url``, where its links lead."""
    return {
        **spec.context,
        "preview": True,
        "key": "",
        "step": spec,
        "at": at,
        "steps": steps,
        "study_title": study.title,
        "contact": study.contact,
        "instructions": Instrument.of(study).texts["instructions"],
        "values": {},
        "errors": {},
        "feedback_box": study.feedback_box and at == steps,
    }
