"""Signed tokens: what a worker's page knows itself by, without a cookie.

Each kind has a salt of its own, so that a token of one kind never passes for another.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.core.signing import BadSignature, Signer


class BadToken(ValueError):
    """A token that this server did not sign, or of which a part is missing."""


@dataclass(frozen=True, slots=True)
class FormToken:
    """What one page's form is about: an assignment and the number of the step."""

    assignment: int
    step: int


_PARTICIPANT = Signer(salt="annotation.participant", sep=".")
_FORM = Signer(salt="annotation.form", sep=".")
_START = Signer(salt="annotation.start", sep=".")
_INVITE = Signer(salt="annotation.invite", sep=".")


def _unsign(signer: Signer, token: str) -> str:
    try:
        return signer.unsign(token)
    except BadSignature:
        raise BadToken from None


def _integers(text: str, count: int) -> list[int]:
    parts = text.split("-")
    if len(parts) != count or not all(part.isascii() and part.isdigit() for part in parts):
        raise BadToken
    return [int(part) for part in parts]


def participant_token(participant_id: int) -> str:
    """The token in the address of a participant's own page."""
    return _PARTICIPANT.sign(str(participant_id))


def read_participant_token(token: str) -> int:
    return _integers(_unsign(_PARTICIPANT, token), 1)[0]


def form_token(assignment_id: int, step: int) -> str:
    """The hidden field that binds a form to one step of one assignment."""
    return _FORM.sign(f"{assignment_id}-{step}")


def read_form_token(token: str) -> FormToken:
    return FormToken(*_integers(_unsign(_FORM, token), 2))


def start_token(study_id: int) -> str:
    """One chance to start a study: pressing the button twice with it makes one participant."""
    return _START.sign(f"{study_id}-{secrets.randbits(64)}")


def read_start_token(token: str, study_id: int) -> str:
    """The platform id of the worker that this token makes."""
    found, number = _integers(_unsign(_START, token), 2)
    if found != study_id:
        raise BadToken
    return f"open-{number:x}"


def invite_token(study_id: int, worker: str) -> str:
    """A personal link's token for the worker whom the researcher calls ``worker``."""
    return _INVITE.sign(f"{study_id}~{worker}")


def read_invite_token(token: str, study_id: int) -> str:
    study, mark, worker = _unsign(_INVITE, token).partition("~")
    if not mark or study != str(study_id):
        raise BadToken
    return worker
