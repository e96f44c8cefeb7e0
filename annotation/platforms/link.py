"""The plain link: the researcher gives people the study's address. A personal link also identifies one person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django import forms
from django.conf import settings as django_settings
from django.urls import reverse

from annotation.languages import gettext as _
from annotation.languages import ngettext, number
from annotation.models import Assignment, Invitation, PlatformAccount, Posting, Study
from annotation.platforms.base import BadArrival, Claim, Finish, Platform
from annotation.platforms.calls import Json
from annotation.task_types.settings import ConfigForm

PLATFORM = "link"


def decision_time() -> forms.IntegerField:
    """The setting for platforms that do not pay: after how many hours work without a decision is due."""
    return forms.IntegerField(
        label="Hours until a reward is to be paid",
        required=False,
        min_value=1,
        max_value=8760,
        help_text="Work that nobody has decided on is to be paid after this time. Empty: at once.",
    )


def decided_by(settings: Json) -> str:
    """When work is checked, in words for workers."""
    hours = settings.get("approve_after_hours")
    if not hours:
        return _("They check your work before they pay.")
    n_days, rest = divmod(int(hours), 24)
    time = (
        ngettext("%(count)s hour", "%(count)s hours", int(hours)) % {"count": number(int(hours))}
        if rest
        else ngettext("%(count)s day", "%(count)s days", n_days) % {"count": number(n_days)}
    )
    return _("They check your work before they pay, at the latest %(time)s after you have sent it.") % {"time": time}


class LinkForm(ConfigForm):
    """How long work waits for a decision. The study's own settings decide who may come and how they are recognised."""

    approve_after_hours = decision_time()


class Link(Platform):
    """People open the study's address. They get hits one after the other, and one completion code."""

    name = PLATFORM
    title = "The study's link"
    form = LinkForm
    unit = "link"
    confirms = False
    pays = False

    @classmethod
    def connected(cls, account: PlatformAccount | None = None) -> Link:
        return cls()

    def plan(self, study: Study, settings: Json) -> list[Posting]:
        if study.postings.filter(platform=self.name).exists():
            return []
        return [Posting(study=study, platform=self.name, external_id=study.slug, url=study_url(study))]

    def posted(self, posting: Posting, settings: Json, results: Sequence[Json]) -> Json:
        return {"external_id": posting.study.slug, "url": study_url(posting.study)}

    @classmethod
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], server_origin: str) -> Claim | None:
        raise BadArrival("This study has another address", f"Open {study_url(posting.study)} instead.")

    @classmethod
    def payment_words(cls, settings: Json) -> str:
        pay = _("The researchers pay you. Your completion code shows them which work is yours.")
        return f"{pay} {decided_by(settings)}"

    @classmethod
    def finish(cls, work: Assignment, settings: Json) -> Finish:
        return Finish(work.participant.completion_code)


def study_url(study: Study) -> str:
    """The study's address on the host in ``HITSERVER_BASE_URL``."""
    return f"{django_settings.BASE_URL}{reverse('study_start', args=[study.slug])}"


def personal_url(invitation: Invitation) -> str:
    """The address of an invitation. Anybody who has it counts as the invited person."""
    return f"{study_url(invitation.study)}?{urlencode({'k': invitation.key})}"
