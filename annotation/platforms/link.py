"""The plain link: the researcher hands out the study's address. A personal link also identifies its holder."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from annotation.models import Invitation, Study

PLATFORM = "link"


def study_url(study: Study) -> str:
    """The study's address on the host in ``HITSERVER_BASE_URL``."""
    return f"{settings.BASE_URL}{reverse('study_start', args=[study.slug])}"


def personal_url(invitation: Invitation) -> str:
    """The address of an invitation. Anybody who has it counts as the invited person."""
    return f"{study_url(invitation.study)}?{urlencode({'k': invitation.key})}"
