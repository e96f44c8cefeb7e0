"""Refuses to send e-mail in production if no mail server is set."""

from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class MailNotSetUp(OSError):
    """Nothing was sent, and nothing was written to the log: an e-mail may contain a link that signs somebody in."""

    def __init__(self) -> None:
        super().__init__("No e-mail was sent: HITSERVER_EMAIL_HOST is not set.")


class NoMail(BaseEmailBackend):
    """Sends nothing: raises MailNotSetUp."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        raise MailNotSetUp
