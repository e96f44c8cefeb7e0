"""Links by e-mail that sign a worker in.

A request only puts a task on the queue. So the page answers equally fast for an unknown address and for a worker's,
and the queue contains no token.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import shared_task
from django.contrib.auth.models import AbstractBaseUser
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from common.languages import ENGLISH, speaking, spoken_code
from common.languages import gettext as _
from common.task_queue import handed_over
from marketplace.models import LoginLink, Worker
from marketplace.services.accounts.users import LINK_USED
from marketplace.services.refusals import Refusal
from marketplace.services.secrets import hashed, new_token

LOGIN_MINUTES = 15
logger = logging.getLogger(__name__)
#: One address can belong to several accounts, but nobody should get a lot of mail.
MOST_ACCOUNTS_OF_AN_ADDRESS = 3
#: Not even when somebody else asks for their links again and again.
MOST_LINKS_AT_A_TIME = 3
SECONDS_TO_SEND = 15 * 60


def request_links(*, email: str, base: str) -> None:
    """Send links to this address in the background, if it is a worker's. ``base`` is this server's address.

    If the queue does not answer, only the log shows it: the page is the same for everybody.
    """
    if not handed_over(lambda: send_links.apply_async(args=[email, base, spoken_code()], expires=SECONDS_TO_SEND)):
        logger.error("A sign-in link could not be requested: the task queue does not answer")


@shared_task(name="marketplace.services.login_links.send_links")  # type: ignore[untyped-decorator]  # Celery has no types
def send_links(email: str, base: str, language: str = ENGLISH) -> int:
    """Send a link for each account with this address; returns how many. Running it twice sends a second message."""
    with speaking(language):
        workers = Worker.objects.filter(active=True, user__is_active=True, user__email__iexact=email)
        n_sent = 0
        for worker in workers.select_related("user")[:MOST_ACCOUNTS_OF_AN_ADDRESS]:
            open_links = LoginLink.objects.filter(worker=worker, used_at=None, expires_at__gt=timezone.now())
            if worker.user is None or open_links.count() >= MOST_LINKS_AT_A_TIME:
                continue
            url = base + reverse("market_use_link", args=[create_login_link(worker=worker)])
            intro = _("With this link you sign in as %(name)s:") % {"name": worker.user.get_username()}
            use = _("It works once, for %(count)s minutes. If you did not ask for it, ignore this message.")
            text = f"{intro}\n\n{url}\n\n{use % {'count': LOGIN_MINUTES}}\n"
            try:
                send_mail(_("Your link to sign in"), text, None, [worker.user.email])
            except OSError:
                logger.exception("A sign-in link could not be sent")
            else:
                n_sent += 1
        return n_sent


@transaction.atomic
def create_login_link(*, worker: Worker) -> str:
    """The token of a link that signs this worker in once, if they use it soon."""
    token, now = new_token(), timezone.now()
    LoginLink.objects.create(
        token_hash=hashed(token), worker=worker, created_at=now, expires_at=now + timedelta(minutes=LOGIN_MINUTES)
    )
    return token


@transaction.atomic
def redeem_login_link(*, token: str) -> Worker:
    """The worker whom this link signs in. Raises Refusal."""
    link = LoginLink.objects.select_for_update().filter(token_hash=hashed(token)).first()
    if link is None or link.used_at is not None or link.expires_at <= timezone.now():
        raise Refusal(_(LINK_USED))
    worker = link.worker
    user: AbstractBaseUser | None = worker.user
    if user is None or not user.is_active or not worker.active:
        raise Refusal(_("This account is closed. Ask the operator of this marketplace."))
    link.used_at = timezone.now()
    link.save(update_fields=["used_at"])
    return worker
