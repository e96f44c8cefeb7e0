"""What the quick rules of quality control find in one submission, when its last step arrives and at every later check.

Simulated workers answer within milliseconds and use few different words. The server's clock is not used for them, and
their texts are not compared with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from analysis.description import Scale
from analysis.quality_control.rules import Settings, find_in
from analysis.quality_control.work import Answered, Check, Chosen, Finding, Work, WrittenText
from annotation import sql
from annotation.task_types.base import Answers, Page, RatingData, Shown, TaskType
from annotation.task_types.checks import ROLES, check_of
from common.text_length import count_words, normalised
from common.words import counted

#: Shorter texts, such as “I do not know”, are often the same by chance.
LEAST_WORDS = 3
QUOTED = 80
Timing = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Sent:
    """One submission as its type sees it: the pages with their answers and times, and the ratings they gave.

    ``seconds``: from acceptance to the last step; None for simulated workers. ``first``: by page, the answers before
    an explanation, where the page came back with one.
    """

    task: TaskType
    shown: Shown
    pages: Sequence[Page]
    answers: Sequence[Answers]
    timings: Sequence[Timing]
    ratings: Sequence[RatingData]
    seconds: float | None
    first: Mapping[int, Answers] = field(default_factory=dict)

    def as_work(self) -> Work:
        """The submission as the rules read it."""
        times = [
            measured["seconds"] for timing in self.timings for measured in timing.values() if "seconds" in measured
        ]
        checks: dict[str, Check] = {
            item.external_id: check for item in self.shown.items if item.role in ROLES and (check := check_of(item))
        }
        chosen = [
            Chosen(question.scale.name, point)
            for page, answers in zip(self.pages, self.answers, strict=True)
            for question in page.questions
            if (point := question.point_in(answers.get(question.key))) is not None
        ]
        scales = {
            (step, question.key): question.stored_on
            for step, page in enumerate(self.pages)
            for question in page.questions
        }
        first_ratings: Sequence[RatingData] | None = None
        if self.first:
            answers_before = [self.first.get(step, answers) for step, answers in enumerate(self.answers)]
            first_ratings = self.task.ratings(self.shown, self.pages, answers_before)
        first = (
            None
            if first_ratings is None
            else [self._answered(row, scales.get((row.step, row.key))) for row in first_ratings]
        )
        return Work(
            answers=[self._answered(row, scales.get((row.step, row.key))) for row in self.ratings],
            first_answers=first,
            chosen=chosen,
            texts=list(self.task.written(self.shown, self.pages, self.answers)),
            questions=sum(answer is not None for answers in self.answers for answer in answers.values()),
            seconds=self.seconds,
            times=times,
            pastes=sum(int(measured.get("pastes", 0)) for timing in self.timings for measured in timing.values()),
            checks=checks,
        )

    def _answered(self, row: RatingData, scale: Scale | None) -> Answered:
        """A rating with the ends of its scale. A rating that a type derives on another scale has no ends."""
        item = "" if row.item is None else self.shown.items[row.item].external_id
        ends: dict[str, Any] = {"low": 0.0, "high": 0.0, "level": "text"}
        if scale is not None and scale.name == row.scale and scale.points:
            ends = {"low": scale.low, "high": scale.high, "level": scale.level}
        return Answered(item, row.question, row.target, row.value, row.text, row.step, **ends)


def findings_in(work: Work, settings: Settings, texts: Sequence[Written], *, where: Where | None) -> list[Finding]:
    """What the quick rules find, once per place. ``where`` is None for simulated workers."""
    least = settings.at("same_text")
    findings = list(find_in(work, settings))
    if where is not None and least is not None:
        findings += same_text_flags([text for text in texts if text.words >= least], where, least)
    once: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        once.setdefault((finding.reason, finding.place), finding)
    return list(once.values())


def flag_columns(finding: Finding, links: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a `Flag`; ``links`` has the submission and the time."""
    return {
        **links,
        "reason": finding.reason,
        "detail": finding.detail[:500],
        "place": finding.place[:100],
        "value": finding.value,
        "threshold": finding.threshold,
        "other": finding.other,
    }


# --- the same text ---


@dataclass(frozen=True, slots=True)
class Where:
    """The submission whose texts are compared. ``before``: only with submissions stored before this one."""

    study_id: int
    participant_id: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A free text of a submission. ``digest`` is the same for texts that differ only in case and punctuation."""

    text: str
    digest: str
    place: str
    words: int


def written_texts(pages: Sequence[Page], answers: Sequence[Answers]) -> list[Written]:
    """The free texts that are long enough to compare, in the order of the pages."""
    texts = []
    for step, (page, page_answers) in enumerate(zip(pages, answers, strict=True)):
        for question in page.questions:
            for text in question.texts_in(page_answers.get(question.key)):
                digest, words = blake2b(normalised(text).encode(), digest_size=16), count_words(text)
                texts.append(Written(text, digest.hexdigest(), WrittenText(text, step, question.key).place, words))
    return [written for written in texts if written.words >= LEAST_WORDS]


_SAME_TEXT = """
SELECT t.digest, t.submission_id, p.id, p.pseudonym
FROM annotation_textprint t
JOIN annotation_submission s ON s.id = t.submission_id
JOIN annotation_participant p ON p.id = s.participant_id
WHERE t.study_id = %s AND t.digest IN ({}) {} ORDER BY t.id
"""


def same_text_flags(texts: Sequence[Written], where: Where, least: float) -> Iterator[Finding]:
    """A flag for each text that this submission contains twice or the study already contains, with where that is.

    Two submissions that arrive at the same moment do not find each other; a later check of the study finds them.
    """
    earlier = _earlier(where, {text.digest for text in texts})
    seen: set[str] = set()
    for text in texts:
        quoted = f"“{text.text[:QUOTED]}{'…' if len(text.text) > QUOTED else ''}”"
        if text.digest in seen:
            detail = f"{quoted} is in this submission more than once."
            yield Finding("same_text", detail, float(text.words), least, text.place)
        elif text.digest in earlier:
            senders = earlier[text.digest]
            by_same_worker = [sender for sender in senders if sender[1] == where.participant_id]
            submission, _, pseudonym = (by_same_worker or senders)[0]
            whose = "the same worker" if by_same_worker else pseudonym
            others = len({sender[0] for sender in senders}) - 1
            more = f", and in {counted(others, 'other submission')}" if others else ""
            detail = f"{quoted} is also in submission {submission} by {whose}{more}."
            yield Finding("same_text", detail, float(text.words), least, text.place, submission)
        seen.add(text.digest)


def _earlier(where: Where, digests: Iterable[str]) -> Mapping[str, list[tuple[int, int, str]]]:
    """By text digest: submission, participant and pseudonym of everybody who sent the text before."""
    sorted_digests = sorted(digests)
    senders_by_digest: dict[str, list[tuple[int, int, str]]] = {}
    if sorted_digests:
        limit = "" if where.before is None else "AND t.submission_id < %s"
        query = _SAME_TEXT.format(", ".join(["%s"] * len(sorted_digests)), limit)
        params = [where.study_id, *sorted_digests, *([] if where.before is None else [where.before])]
        for digest, *sender in sql.fetch_all(query, *params):
            senders_by_digest.setdefault(digest, []).append((sender[0], sender[1], sender[2]))
    return senders_by_digest
