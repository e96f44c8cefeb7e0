"""Whom a platform can find for a study: how many people can take part, and the filters with their ids and values."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.access import SEES_PAYMENTS
from annotation.models import Study
from annotation.platforms import connect
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting import publishing
from annotation.recruiting.pages.platforms import platform_or_404
from annotation.shell.page import SignedIn, member, study_page
from common.problems import Refused

SECTION = "platforms"
MOST_FILTERS = 50


@require_safe
@member(read=SEES_PAYMENTS)
def audience(request: SignedIn, study: Study, platform: str) -> HttpResponseBase:
    """The number of people who pass the stored filters, and the filters with the words of ``?q=``."""
    kind = platform_or_404(platform)
    if not kind.has_audience:
        raise Http404("This platform has no filters.")
    words = request.GET.get("q", "").strip()[:100]
    context: dict[str, Any] = {"platform": kind, "words": words}
    try:
        connected = connect(platform, study)
        settings, audience = publishing.settings_of(study, connected), connected.audience()
        context["chosen"] = settings["filters"]
        context["eligible"] = audience.eligible(settings)
        context["groups"] = audience.groups(settings)
        if words:
            rows = list(audience.filters(settings, words))
            context |= {"filters": rows[:MOST_FILTERS], "n_filters": len(rows), "most": MOST_FILTERS}
    except PlatformTrouble as trouble:
        context["problems"] = [f"{trouble.what} {trouble.fix}".strip()]
    except Refused as refused:
        context["problems"] = [f"{problem.what} {problem.fix}".strip() for problem in refused.problems]
    return study_page(request, study, "recruiting/audience.html", context, section=SECTION)
