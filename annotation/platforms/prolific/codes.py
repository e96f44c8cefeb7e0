"""Completion codes of a study on Prolific, each with what Prolific does when a participant comes back with it.

Schema BaseStudyCompletionCodesItem (“Create a draft study”): several codes, each with a type and actions. Schema
FixedScreenOut: the amount is less than the reward, and the study pauses after `slots` participants were screened out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.crypto import salted_hmac

from annotation.models import Posting
from annotation.platforms.base import NOT_ELIGIBLE
from annotation.platforms.calls import Json
from annotation.task_types.settings import Cell, TableField

#: When a participant gets a code, as people read it.
OUTCOMES = (
    ("completed", "Finished"),
    ("failed_checks", "Finished, but failed gold items or attention checks"),
    ("no_consent", "Does not agree to take part"),
    ("not_eligible", "Came, but cannot take part"),
    ("screened_out", "Screened out by their answers before the first task"),
    ("not_understood", "Failed the comprehension check"),
    ("not_trained", "Failed the training"),
)
#: Outcomes of answers before the first task: values of `Participant.TurnedAway`.
TURNED_AWAY = ("screened_out", "not_understood", "not_trained")
COMPLETED, FAILED_CHECKS = "completed", "failed_checks"
REVIEW, APPROVE, RETURN, SCREEN_OUT = "review", "approve", "return", "screen_out"
ACTIONS = (
    (REVIEW, "Wait for your decision"),
    (APPROVE, "Approve and pay at once"),
    (RETURN, "Ask for a return"),
    (SCREEN_OUT, "Screen out"),
)
#: Schema BaseStudyCompletionCodesItemCodeType.
_TYPES = {COMPLETED: "COMPLETED", FAILED_CHECKS: "FAILED_ATTENTION_CHECK", "no_consent": "NO_CONSENT"}
#: The rules whose flags count as failed checks.
CHECK_FLAGS = ("gold_wrong", "attention_failed")


class CodesField(TableField):
    """What Prolific does with participants, by how their visit ended. One entry for each outcome."""

    def __init__(self, **kwargs: Any) -> None:
        cells = (
            Cell("outcome", "Participant", choices=OUTCOMES),
            Cell("action", "What happens", choices=ACTIONS),
            Cell("reason", "Reason for the return", required=False),
            Cell("add_to", "Add to group", required=False, max_length=40),
            Cell("remove_from", "Remove from group", required=False, max_length=40),
        )
        super().__init__(cells=cells, most=len(OUTCOMES), required=False, **kwargs)

    def clean_row(self, row: Any, number: int) -> Any:
        clean = super().clean_row(row, number)
        if (clean["action"] == RETURN) != bool(clean["reason"]):
            raise ValidationError(f"Entry {number}: a return needs a reason, and only a return has one.", code="reason")
        if clean["outcome"] == COMPLETED and clean["action"] not in (REVIEW, APPROVE):
            what = f"Entry {number}: who finished is reviewed or approved."
            raise ValidationError(what, code="completed")
        return clean

    def clean(self, value: Any) -> list[Any]:
        rows = super().clean(value)
        outcomes = [row["outcome"] for row in rows]
        if len(set(outcomes)) < len(outcomes):
            raise ValidationError("An outcome is in the list twice.", code="twice")
        return rows


def row_for(rows: Sequence[Mapping[str, str]], outcome: str) -> Mapping[str, str] | None:
    """The entry for an outcome. People whose answers turned them away can have one of their own; without it, they go
    back like others who cannot take part."""
    by_outcome = {row["outcome"]: row for row in rows}
    fallback = by_outcome.get(NOT_ELIGIBLE) if outcome in TURNED_AWAY else None
    return by_outcome.get(outcome, fallback)


def screens_out(rows: Sequence[Mapping[str, str]]) -> bool:
    return any(row["action"] == SCREEN_OUT for row in rows)


def code_for(posting: Posting, outcome: str) -> str:
    """The code for an outcome: always the same for a posting, and impossible to guess from another one."""
    if outcome == COMPLETED:
        return posting.code
    return salted_hmac(f"prolific-code/{outcome}", str(posting.pk)).hexdigest()[:10].upper()


def completion_codes(
    posting: Posting, rows: Sequence[Mapping[str, str]], *, screen_out_reward: Decimal | None, slots: int | None
) -> list[Json]:
    """The codes as the API takes them. Without an entry for it, finished work waits for a decision."""
    by_outcome = {row["outcome"]: row for row in rows}
    by_outcome.setdefault(COMPLETED, {"outcome": COMPLETED, "action": REVIEW})
    pay = {"fixed_screen_out_reward": int((screen_out_reward or 0) * 100), "slots": slots or 0}
    groups = (("add_to", "ADD_TO_PARTICIPANT_GROUP"), ("remove_from", "REMOVE_FROM_PARTICIPANT_GROUP"))
    codes: list[Json] = []
    for outcome, row in sorted(by_outcome.items()):
        main: dict[str, Json] = {
            REVIEW: {"action": "MANUALLY_REVIEW"},
            APPROVE: {"action": "AUTOMATICALLY_APPROVE"},
            RETURN: {"action": "REQUEST_RETURN", "return_reason": row.get("reason", "")},
            SCREEN_OUT: {"action": "FIXED_SCREEN_OUT_PAYMENT", **pay},
        }
        moves = [{"action": action, "participant_group": row[name]} for name, action in groups if row.get(name)]
        codes.append(
            {
                "code": code_for(posting, outcome),
                "code_type": "FIXED_SCREENOUT" if row["action"] == SCREEN_OUT else _TYPES.get(outcome, "OTHER"),
                "actions": [main[row["action"]], *moves],
            }
        )
    return codes
