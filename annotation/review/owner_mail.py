"""Email to the owners of a study about what became of it."""

from __future__ import annotations

from django.conf import settings
from django.core.mail import EmailMessage

from annotation.access import Role, members_of
from annotation.models import Study


def mail_owners(study: Study, *, subject: str, body: str) -> int:
    """Mail the active owners, and return how many. If no mail server is configured, nobody is mailed.

    SMTPException or OSError: the mail server refused it, or cannot be reached.
    """
    owners = members_of(study, Role.OWNER).filter(is_active=True)
    addresses = [address for address in owners.values_list("email", flat=True) if address]
    if not addresses or not settings.EMAIL_HOST:
        return 0
    EmailMessage(subject=subject, body=body, bcc=addresses).send()
    return len(addresses)
