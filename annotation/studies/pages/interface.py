"""The page on which a study words texts of the interface itself: buttons, notices, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.languages import LANGUAGES, gettext, ngettext, speaking
from annotation.models import Study
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.interface import IN_ORDER, InterfaceText, texts_of
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.storing import change_study
from annotation.task_types.registry import get_type
from common.problems import Problem, Refused, refuse_if_any

STALE = (
    "Somebody else changed this study while you had this page open. Nothing was saved; check the page and save again."
)


@dataclass(frozen=True, slots=True)
class Box:
    """One text with its standard wording in the study's language and the study's own."""

    source: str
    standard: str
    value: str
    error: str

    @property
    def field(self) -> str:
        return field_of(self.source)


@dataclass(frozen=True, slots=True)
class Group:
    """The texts of some pages."""

    title: str
    boxes: list[Box] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return any(box.value or box.error for box in self.boxes)


def field_of(source: str) -> str:
    """The name of a text's form field. It stays the same when other texts come and go."""
    return f"own-{sha256(source.encode()).hexdigest()[:12]}"


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def interface(request: SignedIn, study: Study) -> HttpResponse:
    texts = texts_of(get_type(study.task_type))
    own: Mapping[str, str] = study.interface
    errors: dict[str, str] = {}
    problems: list[Problem] = []
    if request.method == "POST":
        sources = [source for text in texts for source in text.sources]
        own = {source: words for source in sources if (words := request.POST.get(field_of(source), "").strip())}
        try:
            with transaction.atomic():
                now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
                if request.POST.get("version") != fingerprint(now):
                    refuse_if_any([Problem("version", STALE)])
                change_study(study=now, interface=own, actor=request.user.get_username())
        except Refused as refused:
            errors = {problem.where.partition(".")[2]: f"{problem.what} {problem.fix}" for problem in refused.problems}
            problems = [problem for problem in refused.problems if not problem.where.startswith("interface.")]
        else:
            messages.success(request, "Saved.")
            return redirect("console_interface", study.slug)
    context = {
        "groups": _groups(texts, study.language, own, errors),
        "problems": problems,
        "n_errors": len(errors) - len(problems),
        "language": LANGUAGES[study.language],
        "n_own": len(study.interface),
        "version": fingerprint(Study.objects.get(pk=study.pk)),
        "frozen": study.status != Study.Status.DRAFT,
    }
    status = 422 if errors else 200
    return study_page(request, study, "studies/interface.html", context, section="settings", status=status)


def _groups(
    texts: list[InterfaceText], language: str, own: Mapping[str, str], errors: Mapping[str, str]
) -> list[Group]:
    groups: dict[str, Group] = {}
    with speaking(language):
        for text in texts:
            group = groups.setdefault(text.place, Group(text.place))
            for source in text.sources:
                count = 1 if source == text.source else 5
                standard = ngettext(text.source, text.several, count) if text.several else gettext(source)
                group.boxes.append(Box(source, standard, own.get(source, ""), errors.get(source, "")))
    return [groups[title] for title in IN_ORDER if title in groups]
