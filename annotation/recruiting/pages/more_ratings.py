"""What more ratings of each item cost, and the button that adds them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access import SEES_PAYMENTS
from annotation.models import PlatformJob, Study
from annotation.platforms import all_platforms, connect
from annotation.platforms.base import ByReward, Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting import adding_ratings, job_requests, offered_work
from annotation.recruiting.spending_guard import require_room
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies import item_places
from common.problems import Problem, Refused, invalid
from common.words import counted, money


@require_http_methods(["GET", "HEAD", "POST"])
@member(read=SEES_PAYMENTS, write="payer")
def more_ratings(request: SignedIn, study: Study) -> HttpResponseBase:
    """Shows what more ratings per item cost. A POST adds them, if nothing has changed since."""
    name = offered_work.posted_on(study)
    context: dict[str, Any] = {"platform": all_platforms().get(name), "ratings": study.ratings_per_item + 1}
    form = request.POST if request.method == "POST" else request.GET
    try:
        if not name:
            raise invalid("platform", "This study is on no platform.", "Publish it first.")
        platform: Platform = connect(name, study)
        text = form.get("ratings", str(study.ratings_per_item + 1))
        ratings = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
        if ratings <= study.ratings_per_item:
            what = f"Items already get {counted(study.ratings_per_item, 'rating')}."
            raise invalid("ratings", what, f"Enter a number above {study.ratings_per_item}.")
        cost = adding_ratings.cost_of_more(study, platform, ratings)
        meaning = item_places.in_words(study, ratings - study.ratings_per_item)
        context |= {"ratings": ratings, "cost": cost, "meaning": meaning, "shared": isinstance(platform, ByReward)}
        if request.method == "POST":
            if request.POST.get("total") != str(cost.total):
                raise invalid("total", f"It costs {money(cost.total)} now.", "Check the figures, then confirm again.")
            require_room(study=study, platform=platform, amount=cost.total)
            actor = request.user.get_username()
            adding_ratings.add_ratings(study=study, ratings=ratings, actor=actor)
            job_requests.request_job(study=study, kind=PlatformJob.Kind.ADD, platform=name, actor=actor)
            messages.success(request, f"Each item gets {counted(ratings, 'rating')}. The places are being offered.")
            return redirect("console_platforms", study.slug)
    except Refused as refused:
        context["problems"] = refused.problems
    except PlatformTrouble as trouble:
        context["problems"] = [Problem("platform", trouble.what, trouble.fix)]
    status = 422 if "problems" in context and request.method == "POST" else 200
    return study_page(request, study, "recruiting/more_ratings.html", context, section="platforms", status=status)
