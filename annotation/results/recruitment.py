"""Who could take part in a study, and on what terms, as its description has it for a paper. No id of anybody."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.description import Recruitment
from annotation.models import PlatformAccount, Study
from annotation.platforms import all_platforms
from annotation.platforms.link import PLATFORM as LINK
from common.words import money

#: How the server tells apart people who come by the open link.
IDENTITY = {
    "none": "no check whether the same person took part again",
    "browser": "one participation per browser",
    "parameter": "one participation per id of the panel that sent them",
}


def recruitment_of(study: Study) -> list[Recruitment]:
    """The ways in through which work was offered, and what each asked of workers. One query, or two."""
    posted = study.postings.exclude(posted_at=None, external_id="").values_list("platform", "account")
    accounts = dict(posted.order_by("pk"))
    used = PlatformAccount.objects.in_bulk([pk for pk in accounts.values() if pk])
    return [
        Recruitment(
            name,
            platform.paper_name(used.get(accounts[name])),
            platform.asked_for(study.platforms.get(name, {})),
            platform.confirms,
        )
        for name, platform in all_platforms().items()
        if name in accounts
    ]


def conditions_of(study: Study, ways_in: Sequence[Recruitment]) -> list[tuple[str, str]]:
    """What else decided who took part, and on what terms, besides these ways in. One query."""
    rows: list[tuple[str, str]] = []
    if study.access == Study.Access.INVITED:
        rows.append(("invitation", "only people with a personal link"))
    elif any(way_in.name == LINK for way_in in ways_in):
        rows.append(("repeated participation", IDENTITY[study.identity]))
    if study.exam_study:
        rows.append(("exam", f"at least {study.exam_percent}% right answers in an exam (study {study.exam_study})"))
    barred = list(study.exclude_studies.order_by("slug").values_list("slug", flat=True))
    if barred:
        rows.append(("not in other studies", f"nobody who took part in {', '.join(barred)}"))
    if study.estimated_minutes is not None:
        rows.append(("expected time", f"an expected time of {study.estimated_minutes:g} minutes a task"))
    if study.part_pay == Study.PartPay.STEPS:
        rows.append(
            ("part pay", "part pay for a task that was not finished: the share of its reward for the steps done")
        )
    elif study.part_pay == Study.PartPay.FIXED and study.part_pay_amount is not None:
        rows.append(("part pay", f"part pay for a task that was not finished: {money(study.part_pay_amount)}"))
    if study.feedback_box:
        rows.append(("comments", "a box for comments on the last page"))
    return rows
