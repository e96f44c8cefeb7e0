"""The export of turns: one row per suggestion shown for a turn, and per line that somebody wrote without one.

`python -m analysis writing` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from annotation.models import Offer, Rating, Study, Submission
from annotation.record_writers import Record, Sheet
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.exports.request import ExportError, Request
from annotation.results.row_pages import pages_by_pk
from annotation.task_types.registry import get_type

if TYPE_CHECKING:
    from analysis.writing.story_lines import Line, Offered

#: Submissions per batch.
BATCH = 200
COLUMNS = (
    *("study", "story", "submission", "worker", "synthetic", "included", "confirmation", "arm", "item"),
    *("turn", "round", "author", "text", "chosen", "submitted"),
)
_TEXTS = ("study", "story", "worker", "arm", "item", "author", "text", "submitted")
#: Sections of the report about the turns of stories. A type that declares one of them has turns to export.
_SECTIONS = ("choices", "edits", "story_texts")


@dataclass(frozen=True, slots=True)
class TurnRules:
    """How a type stores turns: as ratings on ``topic``. Every ``every``-th turn has suggestions."""

    topic: str = "turn"
    every: int = 2


@dataclass(frozen=True, slots=True)
class Story:
    """One story of a submission: its item and its lines in order."""

    submission: int
    worker: str
    synthetic: bool
    included: bool
    confirmation: str
    arm: str
    item: str
    lines: Sequence[Line]


def turn_rules(study: Study) -> TurnRules | None:
    """The parameters of the first section about turns that the type declares; None if it declares none."""
    task = get_type(study.task_type)
    for section in task.sections(study.config):
        if section.name in _SECTIONS:
            return TurnRules(**dict(section.parameters))
    return None


def turns_sheet(request: Request) -> Sheet:
    """The turns, in the order of submissions, items and turns. Raises ExportError for types without turns."""
    rules = turn_rules(request.study)
    if rules is None:
        title = get_type(request.study.task_type).title
        raise ExportError(f"{title} has no turns. Export “long” for what workers answered.")
    places = [index for index, name in enumerate(COLUMNS) if name in _TEXTS]

    def batches() -> Iterator[list[Record]]:
        no, yes = request.yes_no
        for stories in story_batches(request, rules):
            records: list[Record] = []
            for story in stories:
                marks = [yes if story.synthetic else no, yes if story.included else no, story.confirmation]
                name = f"{story.submission} {story.item}".strip()
                start = [request.study.slug, name, story.submission, story.worker, *marks, story.arm, story.item]
                for line in story.lines:
                    chosen = (yes if line.chosen else no) if line.author else None
                    records.append([*start, line.turn, line.round, line.author, line.text, chosen, line.submitted])
            yield records

    return Sheet(COLUMNS, places, batches())


def story_batches(request: Request, rules: TurnRules) -> Iterator[list[Story]]:
    """All stories, in batches of a few hundred submissions, with three queries per batch."""
    from analysis.writing.story_lines import story_lines  # loads pandas

    marks = Marks(request.study)
    submissions = Submission.objects.filter(study=request.study).order_by("pk")
    if request.simulated is not None:
        submissions = submissions.filter(participant__synthetic=request.simulated)
    rows = submissions.values_list("pk", "participant__pseudonym", "participant__synthetic", "participant__arm__name")
    for page in pages_by_pk(rows, BATCH):
        ids = [row[0] for row in page]
        turns, offers = _turns(ids, rules.topic), _offers(ids)
        writer_by_submission = {row[0]: row for row in page}
        batch = []
        for (pk, item), texts in turns.items():
            _, worker, synthetic, arm = writer_by_submission[pk]
            lines = story_lines(texts, offers.get((pk, item), []), every=rules.every)
            use = marks.included(pk), str(marks.confirmation(pk))
            batch.append(Story(pk, worker, synthetic, *use, arm, item, lines))
        yield batch


def _turns(submissions: Sequence[int], topic: str) -> Mapping[tuple[int, str], dict[int, str]]:
    """The submitted turns by submission and item."""
    ratings = Rating.objects.filter(submission__in=submissions, question=topic).order_by("submission", "pk")
    texts_by_story: dict[tuple[int, str], dict[int, str]] = {}
    for submission, item, target, text in ratings.values_list("submission_id", "item__external_id", "target", "text"):
        if target.isdecimal():
            texts_by_story.setdefault((submission, item or ""), {})[int(target)] = text
    return texts_by_story


def _offers(submissions: Sequence[int]) -> Mapping[tuple[int, str], list[Offered]]:
    """The suggestions shown by submission and item."""
    from analysis.writing.story_lines import Offered

    names = ("round", "side", "number", "suggester", "text", "chosen")
    rows = Offer.objects.filter(assignment__submission__in=submissions).order_by("pk")
    offers_by_story: dict[tuple[int, str], list[Offered]] = {}
    for submission, item, *cells in rows.values_list("assignment__submission__pk", "item__external_id", *names):
        values: dict[str, Any] = dict(zip(names, cells, strict=True))
        values["chosen"] = bool(values["chosen"])
        offers_by_story.setdefault((submission, item or ""), []).append(Offered(**values))
    return offers_by_story
