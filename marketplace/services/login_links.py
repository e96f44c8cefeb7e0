"""Links by e-mail that sign a worker in.

A request only puts a task on the queue. So the page answers equally fast for an unknown address and for a worker's,
and the queue contains no token.
"""

from __future__ import annotations

import logging

from celery import shared_task
from django.core.mail import send_mail
from django.urls import reverse
from django.utils import timezone

from common.task_queue import handed_over
from marketplace.models import LoginLink, Worker
from marketplace.services import accounts

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
    if not handed_over(lambda: send_links.apply_async(args=[email, base], expires=SECONDS_TO_SEND)):
        logger.error("A sign-in link could not be requested: the task queue does not answer")


@shared_task(name="marketplace.services.login_links.send_links")  # type: ignore[untyped-decorator]  # Celery has no types
def send_links(email: str, base: str) -> int:
    """Send a link for each account with this address; returns how many. Running it twice sends a second message."""
    theirs = Worker.objects.filter(active=True, user__is_active=True, user__email__iexact=email)
    return sum(_send(worker, base) for worker in theirs.select_related("user")[:MOST_ACCOUNTS_OF_AN_ADDRESS])


def _send(worker: Worker, base: str) -> bool:
    if worker.user is None or _open_links(worker) >= MOST_LINKS_AT_A_TIME:
        return False
    url = base + reverse("market_use_link", args=[accounts.create_login_link(worker=worker)])
    text = (
        f"With this link you sign in as {worker.user.get_username()}:\n\n{url}\n\n"
        f"It works once, for {accounts.LOGIN_MINUTES} minutes. If you did not ask for it, ignore this message.\n"
    )
    try:
        send_mail("Your link to sign in", text, None, [worker.user.email])
    except OSError:
        logger.exception("A sign-in link could not be sent")
        return False
    return True


def _open_links(worker: Worker) -> int:
    return LoginLink.objects.filter(worker=worker, used_at=None, expires_at__gt=timezone.now()).count()
