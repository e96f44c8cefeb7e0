"""What the addresses of the API are about, and bodies that they accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from accounts import tokens
from annotation.api.job_files import folder_of
from annotation.models import ApiJob, OutsideAssignment, Study, Submission
from tests.hitserver.support.rare_objects import Case

STUDY = "api/v1/studies/<slug:slug>/"
#: Columns of the table: tokens of the owner that have only this scope.
SCOPES = ("read", "collect", "pay")


def api_cases(study: Study, cases: Mapping[str, Case], owner: User) -> dict[str, Case]:
    """By route. ``cases`` has those of the console: what they are about, the API is about, too."""
    submission = str(Submission.objects.get(study=study).pk)
    posted = cases["console/studies/<slug:slug>/write/"].values
    coding = cases["console/studies/<slug:slug>/coding/"].values
    suggester = cases["console/suggesters/<slug:name>/"].values
    outside = OutsideAssignment.objects.get(posting__study__slug=posted["slug"])
    work = outside.posting.assignments.get()
    job = {"id": str(_job(study, owner).pk)}
    routes: dict[str, Any] = {
        STUDY + "publish/": (posted, {"platform": "mturk"}),
        STUDY + "platform/": (posted, {}),
        STUDY + "platform/add-ratings/": (posted, {"ratings": 9}),
        STUDY + "platform/budget/": (posted, {"budget": "5.00"}),
        STUDY + "platform/compensate/": (posted, {"assignment": work.pk, "amount": "0.10", "reason": "Sorry."}),
        STUDY + "platform/extend/": (posted, {"days": 1, "dry_run": True}),
        STUDY + "platform/fetch/": (posted, {"outside": outside.pk}),
        STUDY + "coding/": (coding, {}),
        STUDY + "coding/<path:item>/settle/": ({**coding, "item": "s0"}, {"chosen": ["x"]}),
        STUDY + "exports/<slug:kind>.<slug:suffix>": ({"suffix": "csv"}, {}),
        STUDY + "exports/": ({}, {"kind": "long"}),
        STUDY + "simulate/": ({}, {"workers": 1}),
        "api/v1/suggesters/<slug:name>/": (suggester, {"tries": 2}),
        "api/v1/suggesters/<slug:name>/pool/": (suggester, {"texts": [{"text": "It rained."}]}),
        "api/v1/runs/<slug:name>/samples.<slug:suffix>": ({"suffix": "csv"}, {}),
    }
    for part in ("differences", "sync", "replace-lost", "end", "delete", "continue"):
        routes[f"{STUDY}platform/{part}/"] = (posted, {"dry_run": True} if part in ("end", "delete") else {})
    for part in ("", "exclude/", "include/", "approve/", "reject/", "bonus/"):
        body = {"reason": "Because.", **({"amount": "0.10"} if part == "bonus/" else {})}
        body = body if part in ("reject/", "bonus/") else {}
        routes[f"{STUDY}submissions/<int:id>/{part}"] = ({"id": submission}, body)
        if part:
            routes[f"{STUDY}submissions/{part}"] = ({}, {**body, "ids": [int(submission)]})
    for part in ("", "cancel/", "file/"):
        routes[f"api/v1/jobs/<int:id>/{part}"] = (job, {})
    return {route: Case(values, body=body) for route, (values, body) in routes.items()}


def _job(study: Study, owner: User) -> ApiJob:
    """A job of the owner that is running again, with the file that it made the first time."""
    result = {"file_name": "long.csv", "content_type": "text/csv"}
    job = ApiJob.objects.create(user=owner, study=study, kind="export", result=result, asked_at=timezone.now())
    folder_of(job).mkdir(parents=True)
    (folder_of(job) / "long.csv").write_text("a\n")
    return job


def scope_tokens(owner: User) -> dict[str, str]:
    """A token of the owner for each scope, named after it."""
    return {scope: tokens.create_token(user=owner, name=scope, scopes=[scope]).text for scope in SCOPES}
