"""Tells the owners of a study, once, that all its ratings are in."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotation.audit import record
from annotation.models import Hit, Study
from annotation.review.owner_mail import mail_owners
from annotation.studies.staffing import items_without_enough_raters
from common.words import counted

log = logging.getLogger(__name__)
ACTOR = "scheduler"
Status = Study.Status


def tell_of_complete_studies() -> int:
    """Email the owners of each study that has become complete. Returns the number of studies.

    There is one email per study, even if more ratings are wanted later. If it cannot be sent, the next call tries
    again. If no mail server is configured, only the console shows that the study is complete.
    """
    open_places = Hit.objects.filter(n_submitted__lt=F("wanted")).values("study")
    running = Study.objects.filter(status__in=(Status.LIVE, Status.PAUSED), complete_at=None, hits__isnull=False)
    full = list(running.exclude(pk__in=open_places).distinct())
    return sum(_tell(study.pk) for study in full if not items_without_enough_raters(study))


def _tell(study_id: int) -> bool:
    """Mark the study before the email goes out, so that it goes out once. No transaction waits for the mail server."""
    now = timezone.now()
    if not Study.objects.filter(pk=study_id, complete_at=None).update(complete_at=now):
        return False
    study = Study.objects.get(pk=study_id)
    submissions = study.submissions.count()
    page = settings.BASE_URL + reverse("console_study", args=[study.slug])
    try:
        mailed = mail_owners(
            study,
            subject=f"All ratings are in: {study.title}",
            body=(
                f"The study “{study.title}” has all the ratings you asked for: {counted(submissions, 'submission')}."
                f"\n\nSee the results, or close the study: {page}\n\n"
                "You get this message once because you own the study.\n"
            ),
        )
    except (OSError, SMTPException):
        log.exception("The owners of %s could not be mailed that it is complete; trying again in a minute", study.slug)
        Study.objects.filter(pk=study_id, complete_at=now).update(complete_at=None)
        return False
    record(study=study, actor=ACTOR, action="all ratings in", submissions=submissions, owners_mailed=mailed)
    return True
