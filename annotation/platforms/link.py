"""The plain link: a study is an address, handed out by the researcher; a personal link also says to whom."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from annotation.models import Study
from annotation.services.refusals import FieldProblem, refuse_if_any
from annotation.task_types.questions import clean_text
from annotation.tokens import invite_token

PLATFORM = "link"
MAX_NAME = 100


def study_url(study: Study) -> str:
    """The study's address, on the host that ``HITSERVER_BASE_URL`` names."""
    return f"{settings.BASE_URL}{reverse('study_start', args=[study.slug])}"


def personal_links(study: Study, names: Iterable[str]) -> list[tuple[str, str]]:
    """(name, address) for each name once, in order. The same name always gives the same address. Raises Invalid."""
    unique = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    problems = []
    for name in unique:
        if len(name) > MAX_NAME:
            what = f"“{name[:40]}…” is {len(name)} characters long."
            problems.append(FieldProblem("names", what, f"Use at most {MAX_NAME} characters."))
        elif clean_text(name) != name or "\n" in name:
            problems.append(FieldProblem("names", f"{name!r:.60} holds a control character.", "Type it anew."))
    refuse_if_any(problems)
    address = study_url(study)
    return [(name, f"{address}?{urlencode({'k': invite_token(study.pk, name)})}") for name in unique]
