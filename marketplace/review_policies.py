"""Review policies: what a requester can ask for in CreateHIT, and the resulting scores.

They follow "Assignment Review Policies", "HIT Review Policies" and "Review Policy Use Cases" in the MTurk API
reference (2017-01-17). Scores are whole percents, rounded down, as in the reference's example (two of three are 66 %).
Where the reference contradicts itself:

- QuestionAgreementThreshold: the score must be *greater*, but the use cases set it to 100 to mean that all agree. Both
  work here: an answer that everybody gave is agreed on, whatever the threshold.
- RejectIfKnownAnswerScoreIsLessThan: the reference says "equal to or less", but also that 0 never rejects and 101
  always does. So it is *less* here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.numbers import whole_number

KNOWN_ANSWERS = "ScoreMyKnownAnswers/2011-09-01"
PLURALITY = "SimplePlurality/2011-09-01"
YEAR = 31_536_000
LONGEST_ANSWER = 256
MOST_QUESTIONS = 15
ALWAYS = 101

Answer = frozenset[str]


class BadPolicy(ValueError):
    """This policy cannot be carried out; ``str()`` gives the reason."""


@dataclass(frozen=True, slots=True)
class Extension:
    """When to offer a HIT to one more worker: below which score, up to how many assignments, for how long at least."""

    below: int
    most: int
    seconds: int


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """Scores an assignment against known answers as soon as it is submitted."""

    key: Mapping[str, Answer]
    approve_from: int | None = None
    approve_reason: str = ""
    reject_below: int | None = None
    reject_reason: str = ""
    extension: Extension | None = None


@dataclass(frozen=True, slots=True)
class Plurality:
    """Compares the answers of all workers once a HIT is reviewable."""

    questions: tuple[str, ...]
    threshold: int
    without_rejected: bool = False
    known_answers_from: int | None = None
    approve_from: int | None = None
    reject_below: int | None = None
    reject_reason: str = ""
    extension: Extension | None = None


def normal(values: Sequence[str]) -> Answer:
    """An answer in the form used for comparison: its nonempty values, without the spaces around them.

    Pages send several values of a field as one text, separated by |.
    """
    parts = (part.strip() for value in values for part in value.split("|"))
    return frozenset(part for part in parts if part)


# --- Read ---------------------------------------------------------------------------------------------------


def read_known_answers(policy: Mapping[str, Any]) -> KnownAnswers:
    """Raises BadPolicy."""
    parameters = _Parameters(policy, KNOWN_ANSWERS)
    read = KnownAnswers(
        key=parameters.answer_key(),
        approve_from=parameters.number("ApproveIfKnownAnswerScoreIsAtLeast", 0, ALWAYS),
        approve_reason=parameters.text("ApproveReason"),
        reject_below=parameters.number("RejectIfKnownAnswerScoreIsLessThan", 0, ALWAYS),
        reject_reason=parameters.text("RejectReason"),
        extension=parameters.extension("ExtendIfKnownAnswerScoreIsLessThan", ALWAYS, most=(2, 25, 5), seconds=0),
    )
    parameters.refuse_others()
    return read


def read_plurality(policy: Mapping[str, Any]) -> Plurality:
    """Raises BadPolicy."""
    parameters = _Parameters(policy, PLURALITY)
    read = Plurality(
        questions=parameters.questions(),
        threshold=parameters.needed_number("QuestionAgreementThreshold", 0, 100),
        without_rejected=parameters.flag("DisregardAssignmentIfRejected"),
        known_answers_from=parameters.number("DisregardAssignmentIfKnownAnswerScoreIsLessThan", 0, ALWAYS),
        approve_from=parameters.number("ApproveIfWorkerAgreementScoreIsAtLeast", 0, ALWAYS),
        reject_below=parameters.number("RejectIfWorkerAgreementScoreIsLessThan", 0, ALWAYS),
        reject_reason=parameters.text("RejectReason"),
        extension=parameters.extension(
            "ExtendIfHITAgreementScoreIsLessThan", 100, most=(1, 1_000_000, None), seconds=None
        ),
    )
    parameters.refuse_others()
    return read


class _Parameters:
    """The parameters of a policy. Each can be read once."""

    def __init__(self, policy: Mapping[str, Any], name: str) -> None:
        if policy.get("PolicyName") != name:
            raise BadPolicy(f"The policy must be {name}, not “{str(policy.get('PolicyName'))[:100]}”.")
        self._left: dict[str, Mapping[str, Any]] = {}
        for parameter in policy.get("Parameters") or ():
            # AWS's own examples use both spellings.
            key = {"QuestionIDs": "QuestionIds"}.get(parameter.get("Key") or "", parameter.get("Key") or "")
            if key in self._left:
                raise BadPolicy(f"There are two parameters {key}.")
            self._left[key] = parameter

    def refuse_others(self) -> None:
        if self._left:
            raise BadPolicy(f"The policy has no parameter {', '.join(self._left)[:200]}.")

    def _values(self, name: str) -> list[str]:
        parameter = self._left.pop(name, {})
        if parameter.get("MapEntries"):
            raise BadPolicy(f"{name} needs Values, not MapEntries.")
        return list(parameter.get("Values") or ())

    def text(self, name: str) -> str:
        values = self._values(name)
        if len(values) > 1:
            raise BadPolicy(f"{name} needs one value, not {len(values)}.")
        return values[0].strip() if values else ""

    def number(self, name: str, least: int, most: int) -> int | None:
        text = self.text(name)
        if not text:
            return None
        number = whole_number(text, least=least, most=most)
        if number is None:
            raise BadPolicy(f"{name} must be a whole number from {least} to {most}, not “{text[:40]}”.")
        return number

    def needed_number(self, name: str, least: int, most: int) -> int:
        number = self.number(name, least, most)
        if number is None:
            raise BadPolicy(f"{name} is required.")
        return number

    def flag(self, name: str) -> bool:
        text = self.text(name).lower()
        if text not in ("", "t", "f", "true", "false"):
            raise BadPolicy(f"{name} must be T or F, not “{text[:40]}”.")
        return text in ("t", "true")

    def questions(self) -> tuple[str, ...]:
        """The question IDs: several values, or one value with commas."""
        names = [name.strip() for value in self._values("QuestionIds") for name in value.split(",")]
        question_ids = tuple(dict.fromkeys(name for name in names if name))
        if not 1 <= len(question_ids) <= MOST_QUESTIONS:
            raise BadPolicy(f"QuestionIds needs from 1 to {MOST_QUESTIONS} questions, not {len(question_ids)}.")
        return question_ids

    def answer_key(self) -> dict[str, Answer]:
        entries = self._left.pop("AnswerKey", {}).get("MapEntries") or ()
        key: dict[str, Answer] = {}
        for entry in entries:
            question = entry.get("Key") or ""
            if not question or question in key:
                raise BadPolicy("Each of the MapEntries of AnswerKey needs a different Key.")
            key[question] = normal(entry.get("Values") or ())
        if not key:
            raise BadPolicy("AnswerKey needs MapEntries: the questions with their answers.")
        return key

    def extension(
        self, below: str, highest: int, *, most: tuple[int, int, int | None], seconds: int | None
    ) -> Extension | None:
        """``most`` is the minimum, maximum and default of ExtendMaximumAssignments. If there is a score, the policy
        must set each value that has no default: ExtendMaximumAssignments, or the time (``seconds``)."""
        score = self.number(below, 0, highest)
        max_assignments = self.number("ExtendMaximumAssignments", most[0], most[1])
        time = self.number("ExtendMinimumTimeInSeconds", 60, YEAR)
        if score is None:
            return None
        if (max_assignments is None and most[2] is None) or (time is None and seconds is None):
            raise BadPolicy(f"{below} needs ExtendMaximumAssignments and ExtendMinimumTimeInSeconds.")
        return Extension(score, max_assignments or most[2] or 0, time or seconds or 0)


# --- Scores -------------------------------------------------------------------------------------------------


def percent(part: int, total: int) -> int:
    return 100 * part // total


def correct(policy: KnownAnswers, answers: Mapping[str, Sequence[str]]) -> dict[str, bool]:
    """Whether each known answer was given."""
    return {
        question: normal(answers.get(question, ())) == known_answer for question, known_answer in policy.key.items()
    }


def known_answer_score(policy: KnownAnswers, answers: Mapping[str, Sequence[str]]) -> int:
    results = correct(policy, answers)
    return percent(sum(results.values()), len(results))


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the workers agree on: the agreed answers and their scores by question, and how often each worker agreed."""

    answers: Mapping[str, Answer]
    scores: Mapping[str, int]
    hit_score: int
    agreed: Mapping[str, int]
    disagreed: Mapping[str, int]

    def worker_score(self, worker: str) -> int | None:
        """The percent of the worker's answers to agreed questions that match; None if there are no such answers."""
        counted = self.agreed[worker] + self.disagreed[worker]
        return percent(self.agreed[worker], counted) if counted else None


def agreement(policy: Plurality, answers: Mapping[str, Mapping[str, Sequence[str]]]) -> Agreement:
    """Compares the answers of all workers (or assignments), question by question. Ignores answers that are too long."""
    agreed_answers: dict[str, Answer] = {}
    scores: dict[str, int] = {}
    agreed, disagreed = dict.fromkeys(answers, 0), dict.fromkeys(answers, 0)
    for question in policy.questions:
        answer_of: dict[str, Answer | None] = {}
        for worker, answers_of_worker in answers.items():
            values = answers_of_worker.get(question, ())
            answer_of[worker] = None if sum(map(len, values)) > LONGEST_ANSWER else normal(values)
        votes = Counter(answer for answer in answer_of.values() if answer is not None)
        top = votes.most_common(2)
        if not top or (len(top) == 2 and top[0][1] == top[1][1]):  # nobody answered, or there is a tie
            continue
        winner, n_votes = top[0]
        score = percent(n_votes, votes.total())
        if score <= policy.threshold and score < 100:
            continue
        agreed_answers[question], scores[question] = winner, score
        for worker, answer in answer_of.items():
            if answer is not None:
                tally = agreed if answer == winner else disagreed
                tally[worker] += 1
    return Agreement(agreed_answers, scores, percent(len(agreed_answers), len(policy.questions)), agreed, disagreed)


#: By CreateHIT parameter.
READERS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "AssignmentReviewPolicy": read_known_answers,
    "HITReviewPolicy": read_plurality,
}
