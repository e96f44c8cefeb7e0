"""Signed tokens: they identify a worker's page without a cookie.

Each kind has its own salt, so a token of one kind never passes for another.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from django.core.signing import BadSignature, Signer


class BadToken(ValueError):
    """A token that this server did not sign, or that is incomplete."""


@dataclass(frozen=True, slots=True)
class FormToken:
    """What one page's form is about: an assignment and the number of the step, from 0. ``attempt`` is 2 for a page that
    came back with an explanation."""

    assignment: int
    step: int
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class BotToken:
    """A simulated worker of one study: its name and how it answers."""

    name: str
    profile: str


_PARTICIPANT = Signer(salt="annotation.participant", sep=".")
_FORM = Signer(salt="annotation.form", sep=".")
_QUESTIONS = Signer(salt="annotation.questions", sep=".")
_TRAINING = Signer(salt="annotation.training", sep=".")
_EVENTS = Signer(salt="annotation.events", sep=".")
_START = Signer(salt="annotation.start", sep=".")
_BOT = Signer(salt="annotation.bot", sep=".")
_POSTING = Signer(salt="annotation.posting", sep=".")
_ARRIVAL = Signer(salt="annotation.arrival", sep=".")


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


@dataclass(frozen=True, slots=True)
class Seat:
    """Whose page it is, and for which assignment if a platform gave one out (None: the one in progress)."""

    participant: int
    assignment: int | None = None


def participant_token(participant_id: int, assignment_id: int | None = None) -> str:
    """The token in the address of a participant's own page, or of their page for one assignment on a platform."""
    return _PARTICIPANT.sign(str(participant_id) if assignment_id is None else f"{participant_id}-{assignment_id}")


@lru_cache(maxsize=4096)
def read_seat(token: str) -> Seat:
    """The seat in a token from `participant_token`. Raises BadToken.

    Remembered, because all pages and steps of a worker have the same token.
    """
    text = _unsign(_PARTICIPANT, token)
    return Seat(*_integers(text, 2)) if "-" in text else Seat(*_integers(text, 1))


def read_participant_token(token: str) -> int:
    """The participant in a token from `participant_token`. Raises BadToken."""
    return read_seat(token).participant


def form_token(assignment_id: int, step: int, attempt: int = 1) -> str:
    """The hidden field that binds a form to one try at one step of one assignment."""
    return _FORM.sign(f"{assignment_id}-{step}" if attempt == 1 else f"{assignment_id}-{step}-{attempt}")


def read_form_token(token: str) -> FormToken:
    """Raises BadToken."""
    text = _unsign(_FORM, token)
    return FormToken(*_integers(text, 3 if text.count("-") == 2 else 2))


@dataclass(frozen=True, slots=True)
class QuestionsToken:
    """One try of one participant at one questionnaire."""

    participant: int
    questionnaire: str
    attempt: int


def questions_token(participant_id: int, questionnaire: str, attempt: int) -> str:
    """The hidden field that binds a form to one try at one questionnaire."""
    return _QUESTIONS.sign(f"{participant_id}-{attempt}~{questionnaire}")


def read_questions_token(token: str) -> QuestionsToken:
    """Raises BadToken."""
    numbers, _, questionnaire = _unsign(_QUESTIONS, token).partition("~")
    participant, attempt = _integers(numbers, 2)
    return QuestionsToken(participant, questionnaire, attempt)


@dataclass(frozen=True, slots=True)
class TrainingToken:
    """One page of one participant's training: which round, and which page of it, from 0."""

    participant: int
    attempt: int
    place: int


def training_token(participant_id: int, attempt: int, place: int) -> str:
    """The hidden field that binds a form to one page of one round of the training."""
    return _TRAINING.sign(f"{participant_id}-{attempt}-{place}")


def read_training_token(token: str) -> TrainingToken:
    """Raises BadToken."""
    return TrainingToken(*_integers(_unsign(_TRAINING, token), 3))


@dataclass(frozen=True, slots=True)
class EventsToken:
    """A page that may record edits: its assignment and step, when it was rendered (milliseconds since 1970), and the
    boxes whose edits it may send."""

    assignment: int
    step: int
    made_at: int
    fields: tuple[str, ...]


def events_token(assignment_id: int, step: int, *, made_at: int, fields: Sequence[str]) -> str:
    """Lets a page send the edits of its boxes ``fields``."""
    return _EVENTS.sign(f"{assignment_id}-{step}-{made_at}~{'~'.join(fields)}")


def read_events_token(token: str) -> EventsToken:
    """Raises BadToken."""
    numbers, *fields = _unsign(_EVENTS, token).split("~")
    assignment, step, made_at = _integers(numbers, 3)
    return EventsToken(assignment, step, made_at, tuple(fields))


def start_token(study_id: int) -> str:
    """One chance to start a study. Pressing the button twice with the same token makes only one participant."""
    return _START.sign(f"{study_id}-{secrets.randbits(64)}")


def read_start_token(token: str, study_id: int) -> str:
    """The key of the worker that this token creates. Raises BadToken, also for a token of another study."""
    token_study, number = _integers(_unsign(_START, token), 2)
    if token_study != study_id:
        raise BadToken
    return f"open-{number:x}"


def bot_token(study_id: int, *, name: str, profile: str) -> str:
    """A simulated worker's token for the start page. It marks the participant as simulated from the start."""
    return _BOT.sign(f"{study_id}~{profile}~{name}")


def read_bot_token(token: str, study_id: int) -> BotToken:
    """The simulated worker of this study. Raises BadToken, also for a token of another study."""
    study, profile, name = [*_unsign(_BOT, token).split("~", 2), "", ""][:3]
    if study != str(study_id) or not name:
        raise BadToken
    return BotToken(name, profile)


def arrival_token(posting_id: int, assignment_id: str) -> str:
    """When a worker came to the start page with an assignment of a platform: about when its time began there."""
    return _ARRIVAL.sign(f"{posting_id}-{int(time.time())}~{assignment_id}")


def read_arrival_token(token: str, posting_id: int, assignment_id: str) -> datetime | None:
    """When the worker came with this assignment; None if the token does not say."""
    try:
        numbers, _, assignment = _unsign(_ARRIVAL, token).partition("~")
        posting, seconds = _integers(numbers, 2)
    except BadToken:
        return None
    return datetime.fromtimestamp(seconds, UTC) if (posting, assignment) == (posting_id, assignment_id) else None


def posting_token(posting_id: int) -> str:
    """The token for a posting in the address that a platform frames."""
    return _POSTING.sign(str(posting_id))


def read_posting_token(token: str) -> int:
    return _integers(_unsign(_POSTING, token), 1)[0]
