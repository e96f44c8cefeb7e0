"""What is true of every kind of export: who is named, pages, empty studies, size."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Rating
from annotation.results import exports
from annotation.results.exports import items as item_exports
from annotation.results.exports import ratings as rating_exports
from annotation.task_types.registry import get_type
from tests.annotation.results.exports.helpers import (
    FILES,
    OF_RATINGS,
    exported,
    read_csv,
)
from tests.factories import make_participant, make_study, make_submission


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "format"),
    [
        each
        for each in FILES
        if each[0]
        not in ("outputs", "offers", "turns", "events", "final", "questionnaires", "spans", "judges", "tries")
    ],
)
def test_no_export_identifies_workers_unless_asked(kind: str, format: str) -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study, participant=make_participant(study=study, platform="mturk", name="A2SECRET"))
    text = exported(study, kind, format)
    assert "A2SECRET" not in text
    assert "mturk" not in text
    if kind == "long":
        assert "A2SECRET" in exported(study, kind, format, with_worker_ids=True)
    else:
        with pytest.raises(exports.ExportError, match="never says who workers are"):
            exported(study, kind, format, with_worker_ids=True)


@pytest.mark.django_db
def test_one_study_never_shows_ratings_of_another() -> None:
    mine, other = make_study(items=1, ratings_per_item=1), make_study(items=1, ratings_per_item=1)
    make_submission(study=other)
    make_submission(study=mine)
    assert {row["study"] for row in read_csv(exported(mine, "long"))} == {mine.slug}
    assert [row["submissions"] for row in read_csv(exported(mine, "wide"))] == ["1"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", OF_RATINGS)
def test_pages_join_without_gap_or_repeat(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(items=5, ratings_per_item=2, hits_per_worker=None)
    worker, another = make_participant(study=study), make_participant(study=study)
    for _ in range(5):
        make_submission(study=study, participant=worker)
        make_submission(study=study, participant=another)
    whole = exported(study, kind)
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(rating_exports, "BATCH", size)
        monkeypatch.setattr(item_exports, "BATCH", size)
        assert exported(study, kind) == whole


@pytest.mark.django_db
@pytest.mark.parametrize("kind", OF_RATINGS)
def test_a_study_without_ratings_or_without_items_gives_the_header(kind: str) -> None:
    assert len(read_csv(exported(make_study(items=2), kind))) == (0 if kind == "long" else 2)
    text = exported(make_study(items=0, live=False), kind)
    assert text.count("\n") == 1
    assert exported(make_study(items=0, live=False), kind, "jsonl") == ""


@pytest.mark.django_db
def test_unknown_kinds_and_formats_are_refused_with_the_known_ones() -> None:
    study = make_study(items=1)
    with pytest.raises(
        exports.ExportError,
        match=r"“broad”.*long, wide, diversity-eval, outputs, offers, turns, events, final, questionnaires, spans, ",
    ):
        exports.pieces(study, kind="broad", format="csv")
    with pytest.raises(exports.ExportError, match=r"“xlsx”.*csv, jsonl"):
        exports.pieces(study, kind="long", format="xlsx")


@pytest.mark.django_db
def test_a_type_without_scores_has_no_diversity_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(get_type("abs_hds")), "scores", lambda self, config: ())
    with pytest.raises(exports.ExportError, match="no scores of items"):
        exports.pieces(make_study(items=1), kind="diversity-eval", format="csv")


@pytest.mark.django_db
@pytest.mark.parametrize("kind", OF_RATINGS)
def test_queries_do_not_grow_with_rows(kind: str) -> None:
    def queries(items: int) -> int:
        study = make_study(items=items, ratings_per_item=1, hits_per_worker=None)
        worker = make_participant(study=study)
        for _ in range(items):
            make_submission(study=study, participant=worker)
        with CaptureQueriesContext(
            connection,
        ) as caught:
            exports.export(study, kind=kind, format="csv", out=io.BytesIO())
        return len(caught)

    assert queries(2) == queries(9)


@pytest.mark.django_db
def test_memory_does_not_grow_with_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rating_exports, "BATCH", 50)
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study)
    rating = submission.ratings.get(question="diversity")

    def add(count: int, first: int) -> None:
        copies = [
            Rating(**{**fields, "target": str(first + number)})
            for number in range(count)
            for fields in [{f.attname: getattr(rating, f.attname) for f in Rating._meta.fields if f.name != "id"}]
        ]
        Rating.objects.bulk_create(copies)

    def peak() -> int:
        tracemalloc.start()
        for _ in exports.pieces(study, kind="long", format="csv"):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    add(200, 0)
    peak()
    small = peak()
    add(4000, 200)
    assert peak() < small * 1.5
