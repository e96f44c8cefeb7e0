"""What the addresses of tokens, teams, webhooks, accounts, images, links and decision files are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.models import Team
from annotation.models import Study
from annotation.people.invitations import invite
from tests.hitserver.support.rare_objects import Case

STUDY = "api/v1/studies/<slug:slug>/"
ACCOUNT = "api/v1/platform-accounts/<slug:account>/"
TEAM = "api/v1/teams/<slug:team>/"


def managing_cases(study: Study, cases: Mapping[str, Case], market: Mapping[str, str]) -> dict[str, Case]:
    """By route. ``cases`` has those of the console."""
    account = {"account": cases["console/platform-accounts/<slug:slug>/"].values["slug"]}
    of_hook = cases["console/studies/<slug:slug>/webhooks/<int:pk>/"].values
    hook = {"slug": of_hook["slug"], "id": of_hook["pk"], "delivery": of_hook["delivery_pk"]}
    team = {"team": Team.objects.get().slug, "user": "viewer"}
    [link] = invite(study=study, names=["Ada"], actor="owner")
    routes: dict[str, tuple[Mapping[str, str], dict[str, Any]]] = {
        "api/v1/tokens/": ({}, {"name": "script", "scopes": ["collect"]}),
        "api/v1/tokens/<int:id>/": ({"id": market["console token"]}, {}),
        "api/v1/teams/": ({}, {"name": "Lab", "slug": "lab"}),
        TEAM: (team, {"name": "Another name"}),
        TEAM + "members/": (team, {}),
        TEAM + "members/<str:user>/": (team, {"role": "editor"}),
        STUDY + "team/": ({}, {"team": None}),
        STUDY + "images/<int:id>/": ({"id": str(study.media.get().pk)}, {}),
        STUDY + "links/": ({}, {"names": ["Grace"]}),
        STUDY + "links/<int:id>/": ({"id": str(link.pk)}, {}),
        STUDY + "platforms/<slug:platform>/audience/": ({"platform": "prolific"}, {}),
        ACCOUNT: (account, {"title": "Another title"}),
    }
    routes |= {f"{ACCOUNT}{part}/": (account, {}) for part in ("keys", "check", "notices")}
    parts = ("", "<int:id>/", *(f"<int:id>/{part}/" for part in ("secret", "test", "deliveries")))
    again = "<int:id>/deliveries/<int:delivery>/redeliver/"
    routes |= {f"{STUDY}webhooks/{part}": (hook, {}) for part in (*parts, again)}
    of_judge = cases["console/studies/<slug:slug>/judges/<int:pk>/stop/"].values
    judge = {"slug": of_judge["slug"], "id": of_judge["pk"]}
    routes |= {f"{STUDY}judges/<int:id>/{part}": (judge, {}) for part in ("", "stop/", "resume/")}
    return {route: Case(values, body=body) for route, (values, body) in routes.items()}
