"""Where the texts of items come from, as columns that no file of items can have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.data import read_bundle
from analysis.description import Factor
from analysis.factor_checks import design_problems
from analysis.factors import factors_of, item_levels
from annotation.models import Output, Study
from annotation.results.frames import study_data, write_study_bundle
from annotation.studies.applying import apply
from annotation.studies.item_sources import import_run
from annotation.studies.outputs import set_feed
from annotation.studies.provenance import in_parts, provenance_columns
from annotation.studies.study_files import read_study_file
from annotation.table_files import TableProblems
from generation.models import GenerationRun
from generation.runs.run_worker import work_on
from tests.factories import make_participant, make_study, make_submission
from tests.generation.support.run_factories import make_run
from tests.generation.support.toy_runs import Toy

pytestmark = pytest.mark.django_db

ARMS: tuple[dict[str, Any], ...] = (
    {"name": "with help", "factors": {"help": "yes", "length": "short"}},
    {"name": "alone", "factors": {"help": "no", "length": "short"}},
)


def writing(*, writers: int = 2, arms: Sequence[dict[str, Any]] = ARMS, items: int = 1, **values: Any) -> Study:
    """A study in which each writer, in turn by arm, answers one context with one text."""
    study = make_study(task_type="production", slug="writing", items=items, ratings_per_item=50, arms=arms, **values)
    for _ in range(writers):
        make_submission(study=study, participant=make_participant(study=study))
    return study


def judging(task_type: str, source: Study) -> Study:
    study = make_study(task_type=task_type, slug=f"judging-{task_type.replace('_', '-')}", items=0, live=False)
    set_feed(study=study, source=source, kind="text", actor="ann")
    return study


def run_of(models: Sequence[str] = ("toy",)) -> GenerationRun:
    run = make_run(
        name="sweep", contexts=[{"id": "a", "context": "It rained."}], decoders=["top_p=0.5", "top_p=0.9"], samples=3
    )
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of)
    run.refresh_from_db()
    return run


def test_a_text_has_its_study_its_writers_arm_and_the_arms_levels() -> None:
    study = judging("likert", writing())

    columns = provenance_columns(study)

    by_arm = {origin["from:arm"]: origin for origin in columns.values()}
    assert by_arm == {
        "with help": {"from:study": "writing", "from:arm": "with help", "from:help": "yes", "from:length": "short"},
        "alone": {"from:study": "writing", "from:arm": "alone", "from:help": "no", "from:length": "short"},
    }
    outputs = {item.pk: Output.objects.get(pk=item.source["outputs"][0]) for item in study.items.all()}
    assert {pk: output.submission.participant.arm.name for pk, output in outputs.items()} == {
        pk: origin["from:arm"] for pk, origin in columns.items()
    }


def test_texts_of_a_study_without_arms_have_no_arm() -> None:
    study = judging("likert", writing(arms=({},)))

    assert list(provenance_columns(study).values()) == [{"from:study": "writing"}] * 2


def test_declared_factors_of_the_items_that_writers_answered_travel_too() -> None:
    source = writing(writers=1)
    item = source.items.get()
    item.payload["extra"] = [["domain", "weather"], ["editor", "kim"]]
    item.save()
    source.factors = {"domain": {}, "help": {"of": "arm"}}
    source.save()

    (origin,) = provenance_columns(judging("likert", source)).values()

    assert origin["from:domain"] == "weather"
    assert "from:editor" not in origin


def test_each_text_of_a_pair_has_its_own_arm() -> None:
    study = judging("pairwise", writing())

    (origin,) = provenance_columns(study).values()

    item = study.items.get()
    first, second = item.payload["system_1"], item.payload["system_2"]
    assert (origin["from:arm:1"], origin["from:arm:2"]) == (first, second)
    assert {first, second} == {"with help", "alone"}
    assert "from:arm" not in origin
    assert (origin["from:length"], origin["from:length:1"], origin["from:length:2"]) == ("short",) * 3
    assert origin["from:study"] == "writing"
    assert "from:study:1" not in origin


def test_samples_have_their_run_model_and_decoder() -> None:
    study = make_study(task_type="likert", items=0, live=False)
    import_run(study=study, run=run_of(), options={}, actor="ann")

    columns = provenance_columns(study)

    items = {item.pk: item.payload for item in study.items.all()}
    assert len(items) == 6
    for pk, payload in items.items():
        extra = dict(payload["extra"])
        assert columns[pk] == {"from:run": "sweep", "from:model": extra["model"], "from:decoder": extra["decoder"]}


def test_both_sets_of_a_pair_of_sets_have_one_decoder_each() -> None:
    study = make_study(task_type="rnk_hds", items=0, live=False)
    import_run(study=study, run=run_of(), options={"set_size": 3}, actor="ann")

    (origin,) = provenance_columns(study).values()

    assert (origin["from:decoder:1"], origin["from:decoder:2"]) == ("top_p=0.5", "top_p=0.9")
    assert "from:decoder" not in origin
    assert origin["from:model"] == origin["from:model:1"] == origin["from:model:2"]


@pytest.mark.parametrize(
    ("ids", "texts", "parts"),
    [
        ([1, 2], [["a"], ["b"]], [[1], [2]]),
        ([1, 2], [["a", "b"]], [[1, 2]]),
        ([1, 2, 3, 4, 5], [["a", "b"], ["c", "d", "e"]], [[1, 2], [3, 4, 5]]),
        ([1, 2], [["a", "b"], ["c", "d", "e"]], [[1], [2]]),
        ([1, 2, 3], [["a"], ["b"]], [[1, 2, 3]]),
        ([1, 2], [], [[1, 2]]),
    ],
)
def test_texts_are_divided_among_parts(ids: list[int], texts: list[list[str]], parts: list[list[int]]) -> None:
    assert in_parts(ids, texts) == parts


def test_items_of_a_file_come_from_nowhere() -> None:
    assert provenance_columns(make_study(task_type="likert", items=2)) == {}


def test_frames_have_the_columns_among_the_cells_of_items() -> None:
    study = judging("likert", writing())

    cells = study_data(study).items["cells"]

    assert {(of_item["from:arm"], of_item["from:help"]) for of_item in cells} == {("with help", "yes"), ("alone", "no")}
    assert all(of_item["arm"] == of_item["from:arm"] for of_item in cells)


def test_the_number_of_queries_does_not_depend_on_the_number_of_items() -> None:
    source = writing(writers=1)
    source.factors = {"domain": {}}
    source.save()
    few = judging("likert", source)
    with CaptureQueriesContext(connection) as queries_of_few:
        provenance_columns(few)
    for _ in range(8):
        make_submission(study=source, participant=make_participant(study=source))
    many = judging("pairwise", source)
    with CaptureQueriesContext(connection) as queries_of_many:
        assert len(provenance_columns(many)) == 4

    assert len(queries_of_few) == len(queries_of_many) == 5


@pytest.mark.parametrize("name", ["items.csv", "items.jsonl"])
def test_a_file_with_a_column_of_that_name_is_refused(tmp_path: Path, name: str) -> None:
    rows = {
        "items.csv": "sample_id,text,from:arm\na,A text.,careful\n",
        "items.jsonl": '{"sample_id": "a", "text": "A text.", "from:arm": "careful"}\n',
    }
    (tmp_path / name).write_text(rows[name])
    (tmp_path / "study.yaml").write_text(f"slug: rating\ntask_type: likert\ntitle: Rating\nitems: {name}\n")

    with pytest.raises(TableProblems) as refused:
        apply(read_study_file(tmp_path / "study.yaml"))

    (problem,) = refused.value.problems
    assert problem.column == "from:arm"
    assert "kept for where texts come from" in problem.what
    assert problem.fix == "Call the column something else, such as arm."
    assert not Study.objects.filter(slug="rating").exists()


def test_reports_and_bundles_compare_the_writers_arms(tmp_path: Path) -> None:
    study = judging("likert", writing())
    study.factors = {"from:arm": {}}
    study.save()
    data = study_data(study)

    with (tmp_path / "bundle.zip").open("wb") as file:
        write_study_bundle(study, file)
    again = read_bundle(tmp_path / "bundle.zip")

    (factor,) = again.description.factors
    assert factor == Factor("from:arm", "item")
    for read in (data, again):
        assert sorted(item_levels(read.items, factor.name)) == ["alone", "with help"]
        assert design_problems(factor, read.description, read.items) == []


def test_pairs_are_compared_by_what_wrote_the_texts_without_a_declaration() -> None:
    assert [factor.name for factor in factors_of(study_data(judging("pairwise", writing(writers=4))))] == ["system"]
