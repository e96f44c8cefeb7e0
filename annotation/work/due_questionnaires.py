"""Which questionnaire a participant has to answer now. A study without questionnaires costs no query here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import QuestionnaireReply
from annotation.task_types.base import Answers
from annotation.task_types.questionnaires import AFTER, BEFORE, COMPREHENSION, Checked, Questionnaires


@dataclass(frozen=True, slots=True)
class Due:
    """A questionnaire that is to be answered now. ``wrong``: what the last try at a comprehension check got wrong."""

    name: str
    attempt: int = 1
    wrong: Sequence[Checked] = ()


#: Name, attempt, whether it was passed, and answers.
Reply = tuple[str, int, bool | None, Answers]


def due_before(participant_id: int, asked: Questionnaires) -> Due | None:
    """What must be answered before the first task. No query if the study asks nothing."""
    return first_due(replies_of(participant_id), asked) if asked.gates else None


def due_after(participant_id: int, asked: Questionnaires) -> Due | None:
    """The questionnaire at the end, unless it is answered. No query if the study asks nothing."""
    if not asked.after or any(name == AFTER for name, *_ in replies_of(participant_id)):
        return None
    return Due(AFTER)


def replies_of(participant_id: int) -> list[Reply]:
    rows = QuestionnaireReply.objects.filter(participant=participant_id).order_by("attempt")
    return list(rows.values_list("questionnaire", "attempt", "passed", "answers"))


def first_due(replies: Sequence[Reply], asked: Questionnaires) -> Due | None:
    """The first that is not answered; None also after answers that turn people away."""
    for name in asked.gates:
        mine = [reply for reply in replies if reply[0] == name]
        if name == BEFORE and not mine:
            return Due(name)
        if name == COMPREHENSION and not any(passed for _, _, passed, _ in mine):
            over = len(mine) >= asked.tries
            return None if over else Due(name, len(mine) + 1, asked.wrong(mine[-1][3]) if mine else ())
    return None
