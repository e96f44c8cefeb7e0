"""Where workers come from: choose a platform and its settings, see the calls and the cost, publish with one click."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import PlatformJob, Posting, Study
from annotation.platforms import connect, known, link
from annotation.platforms.base import Platform, PlatformTrouble
from annotation.queries import platform_overview as overview
from annotation.queries.spending import spending_of
from annotation.services import planning, platform_jobs, publishing
from annotation.services.audit import record
from annotation.services.platform_preview import Estimate, calls_of, estimate
from annotation.services.platform_work import replaces_lost
from annotation.services.spending import default_budget
from annotation.services.studies import change_study
from annotation.task_types.settings import ConfigForm
from annotation.views.console.page import SignedIn, member, say_refused, study_page
from annotation.views.console.plan import About, Check, fingerprint, plan_of
from common.problems import Refused
from common.words import money

SECTION = "platforms"


@dataclass(frozen=True, slots=True)
class Connection:
    """The connected platform, or why it is not connected and what to do about it."""

    platform: Platform | None
    what: str = ""
    fix: str = ""


def connection(name: str) -> Connection:
    try:
        return Connection(connect(name))
    except PlatformTrouble as trouble:
        return Connection(None, trouble.what, trouble.fix)


def platform_or_404(name: str) -> type[Platform]:
    """A platform that studies are published on; the plain link has a separate page."""
    found = known().get(name)
    if found is None or name == link.PLATFORM:
        raise Http404("There is no such platform.")
    return found


@require_safe
@member()
def platforms(request: SignedIn, study: Study) -> HttpResponseBase:
    """The platforms to choose from or, once the study is on one, what is happening there."""
    from annotation.views.console.platforms_work import work_context

    posted = overview.posted_on(study)
    if posted:
        return study_page(request, study, "platforms/work.html", work_context(study, posted), section=SECTION)
    choices = [each for name, each in known().items() if name != link.PLATFORM]
    context = {
        "choices": choices,
        "by_link": study.postings.filter(platform=link.PLATFORM).exists(),
        "set_up": sorted(study.platforms),
    }
    return study_page(request, study, "platforms/choose.html", context, section=SECTION)


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def platform(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """The settings of a study on one platform, its cost there, and the button that publishes."""
    kind = platform_or_404(platform)
    stored = study.platforms.get(platform, {})
    form = settings_form(kind, stored, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            change_study(
                study=study,
                values={},
                platforms={**study.platforms, platform: form.cleaned_data},
                actor=request.user.get_username(),
            )
        except Refused as refused:
            say_refused(request, refused)
        else:
            messages.success(request, "Saved.")
        return redirect("console_platform", study.slug, platform)
    context = _context(study, kind, form)
    status = 422 if form.errors else 200
    return study_page(request, study, "platforms/platform.html", context, section=SECTION, status=status)


def settings_form(kind: type[Platform], stored: dict[str, Any], data: Any = None) -> ConfigForm:
    """The platform's own form, filled in with what is stored."""
    form = kind.form(data, initial=stored)
    for field in form.fields.values():
        field.label_suffix = ""
    return form


def _context(study: Study, kind: type[Platform], form: ConfigForm) -> dict[str, Any]:
    found = connection(kind.name)
    context: dict[str, Any] = {
        "platform": kind,
        "form": form,
        "connection": found,
        "posted": Posting.objects.filter(study=study, platform=kind.name).exists(),
        "elsewhere": overview.posted_on(study) not in ("", kind.name),
        "shown": [(field.label, _in_words(field.value())) for field in form],
        "replace": replaces_lost(study),
        "minimum_pay": minimum_pay(),
        "stopped": _stopped_publishing(study, kind),
    }
    return context | _publishable(study, kind.offline())


def _stopped_publishing(study: Study, kind: type[Platform]) -> PlatformJob | None:
    """The try to publish that the platform refused, after which the study became a draft again."""
    jobs = PlatformJob.objects.filter(study=study, platform=kind.name, kind=PlatformJob.Kind.PUBLISH)
    return jobs.filter(state=PlatformJob.State.FAILED).first() if study.status == Study.Status.DRAFT else None


def _in_words(value: Any) -> str:
    """A setting as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "; ".join(map(_in_words, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items() if part)
    return "none" if value in (None, "") else str(value)


def minimum_pay() -> Any:
    from django.conf import settings

    return settings.MINIMUM_HOURLY_PAY


def _publishable(study: Study, platform: Platform) -> dict[str, Any]:
    """The cost, what prevents publishing, and the version of what the page shows."""
    problems: list[str] = []
    found: Estimate | None = None
    try:
        settings = publishing.settings_of(study, platform)
        found = estimate(study, platform, settings)
        offered = [] if study.status != Study.Status.DRAFT else planning.reasons_not_to_publish(study)
        problems += [f"{each.what} {each.fix}".strip() for each in offered]
        problems += [f"{p.what} {p.fix}".strip() for p in _platform_problems(study, platform, settings)]
    except Refused as refused:
        problems += [f"{each.what} {each.fix}".strip() for each in refused.problems]
    if study.status in (Study.Status.PAUSED, Study.Status.CLOSED):
        state = study.get_status_display().lower()
        problems.append(f"The study is {state}. {'Resume it first.' if state == 'paused' else 'Duplicate it.'}")
    return {
        "estimate": found,
        "budget": spending_of(study).budget,
        "default_budget": default_budget(found.cost.total) if found else None,
        "problems": list(dict.fromkeys(problems)),
        "version": version_of(study, found),
        "endpoint": platform.endpoint(),
        "warnings": _warnings(study) if study.status == Study.Status.DRAFT else [],
    }


def _warnings(study: Study) -> list[Check]:
    """The launch page's warnings, without those about the link and those that the cost table already shows."""
    elsewhere = (About.LINK, About.PAY_PER_HOUR)
    return [check for check in plan_of(study).checks if check.level == "warn" and check.about not in elsewhere]


def _platform_problems(study: Study, platform: Platform, settings: dict[str, Any]) -> list[Any]:
    from annotation.services.platform_preview import offered_by

    return platform.problems(study, settings, offered_by(study))


def version_of(study: Study, found: Estimate | None) -> str:
    """A text that changes with anything that the owner agrees to: the study, its settings for platforms, the cost."""
    cost = [found.cost.hits, found.cost.assignments, found.cost.total] if found else []
    text = json.dumps([fingerprint(study), study.platforms, cost], sort_keys=True, cls=DjangoJSONEncoder)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@require_safe
@member(read="editor")
def calls(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """Every call that publishing would make. ``?file=1`` gives all of them as text."""
    kind = platform_or_404(platform)
    whole = request.GET.get("file") == "1"
    context: dict[str, Any] = {"platform": kind}
    try:
        context["ahead"] = ahead = calls_of(study, kind.offline(), **({"most": None} if whole else {}))
    except Refused as refused:
        context["problems"] = [f"{each.what} {each.fix}".strip() for each in refused.problems]
    except PlatformTrouble as trouble:
        context["problems"] = [f"{trouble.what} {trouble.fix}".strip()]
    else:
        if whole:
            lines = "".join(f"{name} {json.dumps(p, ensure_ascii=False, default=str)}\n" for name, p in ahead.calls)
            name = f'attachment; filename="{study.slug}-{platform}-calls.txt"'
            return HttpResponse(lines, "text/plain; charset=utf-8", headers={"Content-Disposition": name})
        context["calls"] = [(name, json.dumps(p, ensure_ascii=False, default=str)) for name, p in ahead.calls]
    status = 409 if "problems" in context else 200
    return study_page(request, study, "platforms/calls.html", context, section=SECTION, status=status)


@require_safe
@member(read="editor")
def balance(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """The account's balance at this moment. The page loads it by itself; without JavaScript, a link leads here."""
    kind = platform_or_404(platform)
    context: dict[str, Any] = {"platform": kind, "study": study}
    try:
        connected = connect(platform)
        settings = publishing.settings_of(study, connected)
        context["balance"] = connected.balance(settings)
        if context["balance"] is not None and not overview.posted_on(study):
            context["short"] = estimate(study, connected, settings).cost.total > context["balance"]
    except PlatformTrouble as trouble:
        context["trouble"] = trouble
    except Refused:
        pass  # the page itself shows the study's problems
    if "HX-Request" in request.headers:
        return render(request, "console/platforms/_balance.html", context)
    return study_page(request, study, "platforms/balance.html", context, section=SECTION)


@require_POST
@member(write="owner")
def publish(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """Launches the study if it is a draft, and posts everything in the background, unless the page is out of date."""
    platform_or_404(platform)
    try:
        connected = connect(platform)
        settings = publishing.settings_of(study, connected)
        found = estimate(study, connected, settings)
        if request.POST.get("version") != version_of(study, found):
            messages.warning(
                request, "Nothing was posted: the study changed since you opened this page. Check it again."
            )
            return redirect("console_platform", study.slug, platform)
        _publish(request, study, connected, found)
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_platform", study.slug, platform)
    except PlatformTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect("console_platform", study.slug, platform)
    messages.success(request, "Publishing has started. This page shows the progress.")
    return redirect("console_platforms", study.slug)


def _publish(request: HttpRequest, study: Study, platform: Platform, found: Estimate) -> None:
    platform.fees()  # may ask the endpoint, which must not wait for the transaction that waits for it
    _request_publishing(request, study, platform, found)


@transaction.atomic
def _request_publishing(request: HttpRequest, study: Study, platform: Platform, found: Estimate) -> None:
    actor = request.user.get_username()
    planning.publish(study=study, actor=actor, by_link=False)
    planned = publishing.plan_postings(study=study, platform=platform, actor=actor)
    replace = request.POST.get("replace") == "on"
    platform_jobs.request_job(
        study=study, kind=PlatformJob.Kind.PUBLISH, platform=platform.name, actor=actor, params={"replace": replace}
    )
    about = {"platform": platform.name, "postings": planned, "cost": money(found.cost.total), "replace": replace}
    record(study=study, actor=actor, action="publish on a platform", **about)
