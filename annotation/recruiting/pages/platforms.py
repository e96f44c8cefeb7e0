"""Where workers come from: choose a platform and its settings, see the calls and the cost, publish with one click."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import SEES_PAYMENTS
from annotation.audit import record
from annotation.models import PlatformJob, Posting, Study
from annotation.platforms import all_platforms, connect, link, offline, platform_class
from annotation.platforms.base import Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.paying_accounts import ACCOUNT, may_use_servers, payer_problems, paying_account, usable_by
from annotation.recruiting import job_requests, offered_work, publishing
from annotation.recruiting.job_actions import replaces_lost
from annotation.recruiting.publishing_preview import Estimate, calls_of, estimate, offered_by
from annotation.recruiting.spending import spending_of
from annotation.recruiting.spending_guard import default_budget
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.studies import launching
from annotation.studies.pages.launch_plan import About, Check, fingerprint, plan_of
from annotation.studies.storing import change_study
from annotation.task_types.settings import ConfigForm
from common.problems import Refused
from common.words import money

SECTION = "platforms"


@dataclass(frozen=True, slots=True)
class Connection:
    """The connected platform, or why it is not connected and what to do about it."""

    platform: Platform | None
    what: str = ""
    fix: str = ""


def connection(name: str, study: Study) -> Connection:
    try:
        return Connection(connect(name, study))
    except PlatformTrouble as trouble:
        return Connection(None, trouble.what, trouble.fix)


def platform_or_404(name: str) -> type[Platform]:
    """A platform that studies are published on; the plain link has a separate page."""
    platform = all_platforms().get(name)
    if platform is None or name == link.PLATFORM:
        raise Http404("There is no such platform.")
    return platform


@require_safe
@member()
def platforms(request: SignedIn, study: Study) -> HttpResponseBase:
    """The platforms to choose from or, once the study is on one, what is happening there."""
    from annotation.recruiting.pages.posted_study import work_context

    posted = offered_work.posted_on(study)
    if posted:
        return study_page(request, study, "recruiting/offered.html", work_context(study, posted), section=SECTION)
    choices = [platform for name, platform in all_platforms().items() if name != link.PLATFORM]
    context = {
        "choices": choices,
        "by_link": study.postings.filter(platform=link.PLATFORM).exists(),
        "set_up": sorted(study.platforms),
    }
    return study_page(request, study, "recruiting/choose.html", context, section=SECTION)


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def platform(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """The settings of a study on one platform, its cost there, and the button that publishes."""
    kind = platform_or_404(platform)
    stored = study.platforms.get(platform, {})
    form = settings_form(kind, stored, request.POST if request.method == "POST" else None)
    offer_accounts(form, kind, stored, request.user)
    if request.method == "POST" and form.is_valid():
        try:
            change_study(
                study=study,
                platforms={**study.platforms, platform: form.cleaned_data},
                actor=request.user.get_username(),
            )
        except Refused as refused:
            say_refused(request, refused)
        else:
            messages.success(request, "Saved.")
        return redirect("console_platform", study.slug, platform)
    # A try to publish that the platform refused, after which the study became a draft again.
    jobs = PlatformJob.objects.filter(study=study, platform=platform, kind=PlatformJob.Kind.PUBLISH)
    is_draft = study.status == Study.Status.DRAFT
    context: dict[str, Any] = {
        "platform": kind,
        "form": form,
        "connection": connection(platform, study),
        "payer": paying_account(study, platform),
        "posted": Posting.objects.filter(study=study, platform=platform).exists(),
        "elsewhere": offered_work.posted_on(study) not in ("", platform),
        "shown": [(field.label, _in_words(field.value())) for field in form],
        "replace": replaces_lost(study),
        "minimum_pay": minimum_pay(),
        "stopped": jobs.filter(state=PlatformJob.State.FAILED).first() if is_draft else None,
        **publishable(study, platform, request.user),
    }
    status = 422 if form.errors else 200
    return study_page(request, study, "recruiting/platform.html", context, section=SECTION, status=status)


def settings_form(kind: type[Platform], stored: dict[str, Any], data: Any = None) -> ConfigForm:
    """The platform's own form, filled in with what is stored."""
    form = kind.form(data, initial=stored)
    for field in form.fields.values():
        field.label_suffix = ""
    return form


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


def offer_accounts(form: ConfigForm, kind: type[Platform], stored: dict[str, Any], user: User) -> None:
    """Turns the account's short name in the form into a choice: what the user may use, and what is chosen."""
    if not kind.has_accounts:
        return
    accounts = usable_by(user).filter(platform=kind.name, retired_at=None).order_by("title")
    choices = {account.slug: f"{account.title} (…{account.last_four}), {account.owner_name}" for account in accounts}
    if chosen := stored.get(ACCOUNT):
        choices.setdefault(chosen, f"{chosen}, which you cannot use")
    servers = "This server’s account" if may_use_servers(user) else "This server’s account (only administrators)"
    form.order_fields([ACCOUNT])
    form.fields[ACCOUNT].widget = forms.Select(choices=[("", servers), *choices.items()])
    form.fields[ACCOUNT].help_text = (
        "Who pays for this study. Locked when you publish. "
        f'<a href="{reverse("console_platform_accounts")}">Platform accounts</a>'
    )


def publishable(study: Study, name: str, user: User) -> dict[str, Any]:
    """The cost, what prevents publishing, and the version of what the page shows."""
    problems: list[str] = []
    expected: Estimate | None = None
    try:
        platform = offline(name, study)
    except PlatformTrouble as trouble:
        problems.append(str(trouble))
        platform = platform_class(name).offline()
    if platform.has_accounts and not study.postings.filter(platform=name).exists():
        problems += [f"{problem.what} {problem.fix}" for problem in payer_problems(platform.account, user)]
    try:
        settings = publishing.settings_of(study, platform)
        expected = estimate(study, platform, settings)
        reasons = [] if study.status != Study.Status.DRAFT else launching.reasons_not_to_publish(study)
        problems += [f"{problem.what} {problem.fix}".strip() for problem in reasons]
        problems += [
            f"{problem.what} {problem.fix}".strip() for problem in platform.problems(study, settings, offered_by(study))
        ]
    except Refused as refused:
        problems += [f"{problem.what} {problem.fix}".strip() for problem in refused.problems]
    if study.status in (Study.Status.PAUSED, Study.Status.CLOSED):
        state = study.get_status_display().lower()
        problems.append(f"The study is {state}. {'Resume it first.' if state == 'paused' else 'Duplicate it.'}")
    warnings: list[Check] = []
    if study.status == Study.Status.DRAFT:
        # Those of the launch page, without those about the link and those that the cost table already shows.
        elsewhere = (About.LINK, About.PAY_PER_HOUR)
        warnings = [check for check in plan_of(study).checks if check.level == "warn" and check.about not in elsewhere]
    return {
        "estimate": expected,
        "budget": spending_of(study).budget,
        "default_budget": default_budget(expected.cost.total) if expected else None,
        "problems": list(dict.fromkeys(problems)),
        "version": version_of(study, expected),
        "endpoint": platform.endpoint(),
        "warnings": warnings,
    }


def version_of(study: Study, expected: Estimate | None) -> str:
    """A text that changes with anything that the owner agrees to: the study, its settings for platforms, the cost."""
    cost = [expected.cost.hits, expected.cost.assignments, expected.cost.total] if expected else []
    text = json.dumps([fingerprint(study), study.platforms, cost], sort_keys=True, cls=DjangoJSONEncoder)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@require_safe
@member(read=SEES_PAYMENTS)
def calls(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """Every call that publishing would make. ``?file=1`` gives all of them as text."""
    kind = platform_or_404(platform)
    as_file = request.GET.get("file") == "1"
    context: dict[str, Any] = {"platform": kind}
    try:
        context["ahead"] = ahead = calls_of(study, offline(platform, study), **({"most": None} if as_file else {}))
    except Refused as refused:
        context["problems"] = [f"{problem.what} {problem.fix}".strip() for problem in refused.problems]
    except PlatformTrouble as trouble:
        context["problems"] = [f"{trouble.what} {trouble.fix}".strip()]
    else:
        if as_file:
            lines = "".join(f"{name} {json.dumps(p, ensure_ascii=False, default=str)}\n" for name, p in ahead.calls)
            name = f'attachment; filename="{study.slug}-{platform}-calls.txt"'
            return HttpResponse(lines, "text/plain; charset=utf-8", headers={"Content-Disposition": name})
        context["calls"] = [(name, json.dumps(p, ensure_ascii=False, default=str)) for name, p in ahead.calls]
    status = 409 if "problems" in context else 200
    return study_page(request, study, "recruiting/calls.html", context, section=SECTION, status=status)


@require_safe
@member(read=SEES_PAYMENTS)
def balance(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """The account's balance at this moment. The page loads it by itself; without JavaScript, a link leads here."""
    kind = platform_or_404(platform)
    context: dict[str, Any] = {"platform": kind, "study": study}
    try:
        connected = connect(platform, study)
        settings = publishing.settings_of(study, connected)
        context["balance"] = connected.balance(settings)
        if context["balance"] is not None and not offered_work.posted_on(study):
            context["short"] = estimate(study, connected, settings).cost.total > context["balance"]
    except PlatformTrouble as trouble:
        context["trouble"] = trouble
    except Refused:
        pass  # the page itself shows the study's problems
    if "HX-Request" in request.headers:
        return render(request, "recruiting/_balance.html", context)
    return study_page(request, study, "recruiting/balance.html", context, section=SECTION)


@require_POST
@member(write="payer")
def publish(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """Launches the study if it is a draft, and posts everything in the background, unless the page is out of date."""
    platform_or_404(platform)
    try:
        connected = connect(platform, study)
        settings = publishing.settings_of(study, connected)
        expected = estimate(study, connected, settings)
        if request.POST.get("version") != version_of(study, expected):
            messages.warning(
                request, "Nothing was posted: the study changed since you opened this page. Check it again."
            )
            return redirect("console_platform", study.slug, platform)
        connected.fees()  # may ask the endpoint, which must not wait for the transaction that waits for it
        request_publishing(
            study=study,
            platform=connected,
            expected=expected,
            replace=request.POST.get("replace") == "on",
            actor=request.user.get_username(),
        )
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_platform", study.slug, platform)
    except PlatformTrouble as trouble:
        messages.error(request, str(trouble))
        return redirect("console_platform", study.slug, platform)
    messages.success(request, "Publishing has started. This page shows the progress.")
    return redirect("console_platforms", study.slug)


@transaction.atomic
def request_publishing(
    *, study: Study, platform: Platform, expected: Estimate, replace: bool, actor: str
) -> PlatformJob:
    """Launch the study if it is a draft, plan its postings and request the job that posts them. Raises Invalid.

    ``replace``: lost places are offered again automatically.
    """
    launching.publish(study=study, actor=actor, by_link=False)
    planned = publishing.plan_postings(study=study, platform=platform, actor=actor)
    job = job_requests.request_job(
        study=study, kind=PlatformJob.Kind.PUBLISH, platform=platform.name, actor=actor, params={"replace": replace}
    )
    detail = {"platform": platform.name, "postings": planned, "cost": money(expected.cost.total), "replace": replace}
    record(study=study, actor=actor, action="publish on a platform", **detail)
    return job
