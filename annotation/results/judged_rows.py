"""Judges of a study and their answers as the rows of its data. Nothing here reads a worker's answer."""

from __future__ import annotations

import math
from collections.abc import Iterator

from analysis.study_tables import JudgeRatingRow, JudgeRow
from annotation.judging.standing import standing_of
from annotation.models import JudgeRating, Study

CHUNK = 10_000


def judge_rows(study: Study) -> Iterator[JudgeRow]:
    """Judges that have answered something, in the order in which they were made."""
    for judge in study.judges.select_related("model", "arm").order_by("pk"):
        standing = standing_of(judge)
        if not standing.asked:
            continue
        places = standing.places
        yield JudgeRow(
            *(judge.name, judge.model.name, judge.method, judge.arm.name, judge.state, judge.samples),
            *(judge.temperature, judge.seed, judge.n_items, standing.n_places),
            *(places["done"], places["invalid"], places["refused"], standing.asked, standing.again),
            {name: float(count) for name, count in standing.problems.items()},
            *(standing.tokens_in, standing.tokens_out, standing.seconds, f"{standing.cost:.4f}"),
        )


def judge_rating_rows(study: Study) -> Iterator[JudgeRatingRow]:
    """All answers of judges to questions about items, by judge in the order in which they were given."""
    rows = JudgeRating.objects.filter(judge__study=study).order_by("judge", "pk")
    columns = (
        *("judge__name", "item__external_id", "place__sample", "question", "target", "scale", "value", "text"),
        *("side", "chance", "chances"),
    )
    for judge, item, sample, question, target, scale, value, text, side, chance, chances in rows.values_list(
        *columns
    ).iterator(CHUNK):
        answer, probability = (math.nan if number is None else number for number in (value, chance))
        yield JudgeRatingRow(judge, item, sample, question, target, scale, answer, text, side, probability, chances)
