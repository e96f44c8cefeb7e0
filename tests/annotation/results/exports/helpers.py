"""Studies with ratings written by hand, and exports read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import Rating, Review, Study, Submission
from annotation.results import exports
from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from tests.factories import default_config, make_participant, make_study, make_submission

Cells = Mapping[str, str]


#: Each kind that is a table with each of its formats that are text.
FILES = [(kind, format) for kind in exports.SHEETS for format in ("csv", "jsonl")]
#: The tables that any HDS study has.
OF_RATINGS = ("long", "wide", "diversity-eval")


def exported(study: Study, kind: str, format: str = "csv", **options: Any) -> str:
    data, count = exported_bytes(study, kind, format, **options)
    text = data.decode("utf-8")
    assert count == (len(read_csv(text)) if format == "csv" else text.count("\n"))
    return text


def exported_bytes(study: Study, kind: str, format: str = "", **options: Any) -> tuple[bytes, int]:
    out = io.BytesIO()
    count = exports.export(study, kind=kind, format=format, out=out, **options)
    assert b"".join(exports.pieces(study, kind=kind, format=format, **options)) == out.getvalue()
    return out.getvalue(), count


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def read_jsonl(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def study_of(
    rows: Sequence[Cells],
    *,
    task_type: str = "abs_hds",
    ratings: int = 2,
    arms: Sequence[Mapping[str, Any]] = ({},),
) -> Study:
    task = get_type(task_type)
    whole = default_config(task)
    items, problems = task.read_items([Row(number, cells) for number, cells in enumerate(rows, start=1)], whole)
    assert problems == []
    return make_study(
        task_type=task_type, payloads=items, config=whole, arms=arms, ratings_per_item=ratings, hits_per_worker=None
    )


def one_set(**cells: str) -> dict[str, str]:
    return {"sample_id": "a", "context": "Hi.", "resp_0": "Hello.", "resp_1": "Bye."} | cells


def rated(study: Study, values: Mapping[str, Sequence[tuple[str, str, str, float]]]) -> dict[str, Submission]:
    """Ratings written by hand: by worker, (item, question, target, value)."""
    items = {item.external_id: item for item in study.items.all()}
    made = {}
    for worker, given_ in values.items():
        submission = make_submission(study=study, participant=make_participant(study=study, name=worker))
        submission.ratings.all().delete()
        for item, question, target, value in given_:
            Rating.objects.create(
                study=study,
                submission=submission,
                participant=submission.participant,
                item=items[item],
                question=question,
                target=target,
                scale=question,
                value=value,
                created_at=submission.received_at,
            )
        made[worker] = submission
    return made


def exclude(submission: Submission) -> None:
    Review.objects.create(submission=submission, decision="exclude")
