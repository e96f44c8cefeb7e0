"""Reasons to look at a submission, for every task type: it was sent too fast, or a text was sent before.

Simulated workers get no flags from here: they answer within milliseconds and use few different words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from django.conf import settings

from annotation import sql
from annotation.task_types.base import Answers, Page
from annotation.task_types.questions import TextQuestion
from annotation.task_types.text_checks import normalised
from common.words import counted

#: Shorter texts, such as “I do not know”, are often the same by chance.
LEAST_WORDS = 3
QUOTED = 80


@dataclass(frozen=True, slots=True)
class Found:
    """A reason for a flag. ``other`` is the id of the submission that the reason points to."""

    reason: str
    detail: str
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A free text of a submission. ``digest`` is the same for texts that differ only in case and punctuation."""

    text: str
    digest: str


def speed_flags(*, steps: int, seconds: float) -> Iterator[Found]:
    """A flag if the whole hit took less time than anybody needs to read its pages."""
    if seconds < steps * settings.LEAST_SECONDS_PER_STEP:
        yield Found("too_fast", f"{counted(steps, 'step')} in {seconds:.1f} seconds.")


def written_texts(pages: Sequence[Page], answers: Sequence[Answers]) -> list[Written]:
    """The free texts that are long enough to compare, in the order of the pages."""
    found = []
    for page, given in zip(pages, answers, strict=True):
        for question in page.questions:
            text = given.get(question.key)
            if isinstance(question, TextQuestion) and isinstance(text, str):
                words = normalised(text)
                if len(words.split()) >= LEAST_WORDS:
                    found.append(Written(text, blake2b(words.encode(), digest_size=16).hexdigest()))
    return found


_SAME_TEXT = """
SELECT t.digest, t.submission_id, p.id, p.pseudonym
FROM annotation_textprint t
JOIN annotation_submission s ON s.id = t.submission_id
JOIN annotation_participant p ON p.id = s.participant_id
WHERE t.study_id = %s AND t.digest IN ({}) ORDER BY t.id
"""


def same_text_flags(texts: Sequence[Written], *, study_id: int, participant_id: int) -> Iterator[Found]:
    """A flag for each text that this submission contains twice or the study already contains, with where that is.

    Two submissions that arrive at the same moment do not find each other.
    """
    earlier = _earlier(study_id, {text.digest for text in texts})
    seen: set[str] = set()
    for text in texts:
        quoted = f"“{text.text[:QUOTED]}{'…' if len(text.text) > QUOTED else ''}”"
        if text.digest in seen:
            yield Found("same_text", f"{quoted} is in this submission more than once.")
        elif text.digest in earlier:
            yield _as_before(quoted, earlier[text.digest], participant_id)
        seen.add(text.digest)


def _earlier(study_id: int, digests: Iterable[str]) -> Mapping[str, list[tuple[int, int, str]]]:
    """By text digest: submission, participant and pseudonym of everybody who sent the text before."""
    wanted = sorted(digests)
    found: dict[str, list[tuple[int, int, str]]] = {}
    if wanted:
        query = _SAME_TEXT.format(", ".join(["%s"] * len(wanted)))
        for digest, *where in sql.fetch_all(query, study_id, *wanted):
            found.setdefault(digest, []).append((where[0], where[1], where[2]))
    return found


def _as_before(quoted: str, places: Sequence[tuple[int, int, str]], participant_id: int) -> Found:
    """The flag for a repeated text. An earlier text of the same worker takes priority over other workers' texts."""
    own = [place for place in places if place[1] == participant_id]
    submission, _, pseudonym = (own or places)[0]
    submissions = {place[0] for place in places}
    whose = "the same worker" if own else pseudonym
    more = f", and in {counted(len(submissions) - 1, 'other submission')}" if len(submissions) > 1 else ""
    return Found("same_text", f"{quoted} is also in submission {submission} by {whose}{more}.", submission)
