"""Mail when something needs a person: once for each cause, again after a day, and once when it is over.

Each check sends at most one mail, however many causes there are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Q
from django.utils import timezone

from common.words import counted, duration
from hitserver.models import Alarm
from hitserver.watch.checks import BAD, Line, watched
from hitserver.watch.figures import latest
from hitserver.watch.signs import machine

logger = logging.getLogger(__name__)
AGAIN_AFTER = timedelta(days=1)
#: Something that is right for a moment only is not over.
OVER_AFTER = timedelta(minutes=15)


def check() -> int:
    """Note what is wrong now, and mail about what is new, what is still wrong after a day, and what is over.

    Returns how many alarms there are.
    """
    figures = latest(max_age=0.0)
    if not figures.database_up:  # then nothing can be noted
        return 0
    now, lines = timezone.now(), watched(figures)
    wrong = {line.cause: line for line in lines if line.level == BAD}
    for line in wrong.values():
        Alarm.objects.update_or_create(
            cause=line.cause,
            defaults={"text": line.text, "right_since": None},
            create_defaults={"text": line.text, "began_at": now},
        )
    right = Alarm.objects.exclude(cause__in=wrong)
    right.filter(right_since=None).update(right_since=now)
    over = list(right.filter(right_since__lte=now - OVER_AFTER))
    unmailed = Alarm.objects.filter(_unmailed(now), cause__in=wrong).order_by("began_at", "pk")
    due = list(unmailed) if settings.ALARM_MAIL else []
    _mail(due, over, wrong, now)
    return Alarm.objects.count()


def _unmailed(now: datetime) -> Q:
    return Q(mailed_at=None) | Q(mailed_at__lte=now - AGAIN_AFTER)


def _mail(due: Sequence[Alarm], over: Sequence[Alarm], wrong: dict[str, Line], now: datetime) -> None:
    """Claims the alarms first, so that two checks at once send one mail. If it cannot be sent, the next check tries."""
    claimed = [alarm for alarm in due if Alarm.objects.filter(_unmailed(now), pk=alarm.pk).update(mailed_at=now)]
    ended = [alarm for alarm in over if Alarm.objects.filter(pk=alarm.pk).delete()[0]]
    told = [alarm for alarm in ended if alarm.mailed_at is not None]
    if not settings.ALARM_MAIL or not (claimed or told):
        return
    parts = [
        f"{wrong[alarm.cause].title}: {wrong[alarm.cause].text}\nTo do: {wrong[alarm.cause].fix}\n"
        + ("" if alarm.mailed_at is None else f"This began {duration((now - alarm.began_at).total_seconds())} ago.\n")
        for alarm in claimed
    ]
    parts += [f"Over: {alarm.cause}. It was: {alarm.text}\n" for alarm in told]
    what = counted(len(claimed), "thing") + " to fix" if claimed else "over: " + ", ".join(one.cause for one in told)
    page = f"{settings.BASE_URL}/console/server/" if "studies" in settings.PARTS else settings.BASE_URL
    body = "\n".join([*parts, f"The page Server shows everything: {page}"])
    message = EmailMessage(f"HITServer on {machine()}: {what}", body, to=settings.ALARM_MAIL)
    try:
        message.send()
    except (OSError, SMTPException) as error:
        logger.warning("The mail about %s could not be sent; trying again in five minutes: %s", what, error)
        for alarm in claimed:
            Alarm.objects.filter(pk=alarm.pk).update(mailed_at=alarm.mailed_at)
        Alarm.objects.bulk_create(ended, ignore_conflicts=True)
