"""What can be wrong with a training, and what researchers read then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation.instrument import Instrument, item_data
from annotation.models import Study
from annotation.studies.checking import check_study
from annotation.studies.importing_items import import_items, read_items
from annotation.studies.launching import reasons_not_to_publish
from annotation.studies.spec import spec_of
from annotation.studies.storing import change_study
from annotation.studies.study_files import FileRefused
from annotation.table_files.tables import TableProblems
from annotation.task_types.registry import get_type
from annotation.work.right_answers import best_attempt
from common.problems import Refused
from tests.annotation.quality_helpers import MAIN, STATEMENTS, gold_study, table
from tests.annotation.questionnaire_helpers import stored
from tests.annotation.study_file_helpers import SETS, run, write
from tests.annotation.training_helpers import TRAINING, training_study
from tests.factories import create_study, default_config

pytestmark = pytest.mark.django_db

Row = Mapping[str, str]


def problems_of(rows: Sequence[Row], **config: Any) -> list[tuple[int, str, str, str]]:
    with pytest.raises(TableProblems) as refused_file:
        read_items("likert", default_config(get_type("likert")) | {"statements": STATEMENTS} | config, table(rows))
    return [(problem.row, problem.column, problem.what, problem.fix) for problem in refused_file.value.problems]


def draft(rows: Sequence[Row] = (*TRAINING, *MAIN), **settings: Any) -> Study:
    return training_study(rows, settings=settings, live=False)


def reasons(study: Study) -> dict[str, str]:
    return {problem.where: f"{problem.what} {problem.fix}" for problem in reasons_not_to_publish(study)}


def test_items_of_the_training_have_right_answers_and_explanations() -> None:
    config = default_config(get_type("likert")) | {"statements": STATEMENTS}
    read = read_items("likert", config, table([*TRAINING, MAIN[0]]))
    assert [item.role for item in read.items] == ["training", "training", "main"]
    check = read.items[0].payload["check"]
    assert check["explanations"] == {"dull": "Nothing happens."}
    assert check["role"] == "training"


@pytest.mark.parametrize(
    ("row", "column", "what"),
    [
        ({"role": "training"}, "training:", "This training item has no right answer."),
        ({"training:lively": "9"}, "training:lively", "“9” is no answer to this question."),
        ({"training:lively": "8..9"}, "training:lively", "The range 8..9 is outside the scale."),
        ({"training:lively": "1..7"}, "training:lively", "Every answer would be right."),
        ({"training:shiny": "2"}, "training:shiny", "The study has no question “shiny”."),
        (
            {"training:lively": "2", "gold:dull": "2"},
            "training:lively",
            "The item is for the training and also gold.",
        ),
        (
            {"training:lively": "2", "gold_explanation:shiny": "No."},
            "gold_explanation:shiny",
            "The study has no question “shiny”.",
        ),
        (
            {"gold_explanation:dull": "No."},
            "gold_explanation:dull",
            "The column gold_explanation:dull is only for items with a right answer, and this one has none.",
        ),
        (
            {"training:lively": "2", "gold_explanation:dull": "x" * 2_001},
            "gold_explanation:dull",
            "The explanation has 2,001 characters.",
        ),
    ],
)
def test_a_training_item_that_cannot_be_used_is_refused(row: Row, column: str, what: str) -> None:
    problems = problems_of([*MAIN, {"sample_id": "t", "text": "A text.", **row}])
    assert (column, what) in [(at, said) for _, at, said, _ in problems]
    assert all(fix for *_, fix in problems)


def test_training_items_are_in_no_hit_and_not_among_those_that_are_rated() -> None:
    study = draft([*TRAINING, MAIN[0]])
    assert reasons(study) == {}


def test_a_study_of_training_items_alone_has_no_items() -> None:
    assert "The study has no items." in reasons(draft(TRAINING))["items"]


@pytest.mark.parametrize(
    ("settings", "where", "what"),
    [
        ({"training_needed": 3}, "training_needed", "3 training items must be right, but the study has only 2."),
        (
            {"training_skip_if_passed": ["plain"]},
            "training_skip_if_passed",
            "The study “plain” has no training, so nobody can have passed it.",
        ),
    ],
)
def test_settings_that_cannot_be_met_prevent_the_launch(settings: dict[str, Any], where: str, what: str) -> None:
    gold_study(MAIN, slug="plain", live=False)
    assert what in reasons(draft(**settings))[where]


@pytest.mark.parametrize(
    "settings",
    [{"training_needed": 1}, {"training_message": "Thank you."}, {"training_show_right": True}],
)
def test_settings_without_training_items_prevent_the_launch(settings: dict[str, Any]) -> None:
    (problem,) = reasons(draft(MAIN, **settings)).items()
    text = "The study has no training items. Import items with training:TOPIC, or remove this."
    assert problem == (next(iter(settings)), text)


@pytest.mark.parametrize(
    ("changed", "where", "what"),
    [
        ({"training_tries": 0}, "training_tries", "greater than or equal to 1"),
        ({"training_tries": 9}, "training_tries", "less than or equal to 5"),
        ({"training_needed": 0}, "training_needed", "greater than or equal to 1"),
        ({"training_needed": "all"}, "training_needed", "text"),
        ({"training_show_right": "yes"}, "training_show_right", "text"),
        ({"training_skip_if_passed": "other"}, "training_skip_if_passed", "text"),
        ({"training_skip_if_passed": ["nobody-knows-it"]}, "training_skip_if_passed", "There is no study “nobody"),
        ({"training_rounds": 2}, "training_rounds", "training_rounds"),
        ({"quality_control": {"gold_mode": "noisy"}}, "quality_control.gold_mode", "noisy"),
    ],
)
def test_keys_of_a_study_file_that_are_wrong(tmp_path: Path, changed: dict[str, Any], where: str, what: str) -> None:
    (tmp_path / "sets.csv").write_text(SETS)
    with pytest.raises((Refused, FileRefused)) as no:
        run(write(tmp_path, **changed))
    texts = {problem.where: problem.what for problem in no.value.problems}
    assert what in texts[where]


def test_a_study_cannot_skip_its_own_training() -> None:
    study = draft()
    with pytest.raises(Refused) as no:
        change_study(study=study, questionnaires=stored(training_skip_if_passed=["owls"]), actor="test")
    assert [problem.what for problem in no.value.problems] == ["A study cannot skip its own training."]


FORM: dict[str, Any] = {
    "texts": ["a", "b"],
    "shown": [],
    "questions": [
        {"kind": "scale", "topic": "score", "question": "How good is it?", "points": 5, "of": "text"},
        {"kind": "scale", "topic": "sure", "question": "How sure are you?", "points": 3},
        {
            "kind": "choice",
            "topic": "why",
            "question": "Why not?",
            "options": [{"value": "1", "label": "Too short"}, {"value": "2", "label": "Too odd"}],
            "shown_if": {"sure": [1]},
        },
    ],
}


def form_draft(**answers: str) -> Study:
    study = create_study(
        slug="compare", task_type="form", values={"title": "Compare"}, config=FORM, texts={}, actor="test", owner=None
    )
    rows = [
        {"sample_id": "t1", "a": "One text.", "b": "Another text.", **answers},
        {"sample_id": "m1", "a": "A main text.", "b": "Its neighbour."},
    ]
    import_items(study=study, table=table(rows), actor="test")
    return study


def test_right_answers_that_exclude_each_other_prevent_the_launch() -> None:
    study = form_draft(**{"training:score": "a > b", "training:score/a": "1"})
    assert "Nobody can answer “score" in reasons(study)["items"]
    assert "they must be possible together" in reasons(study)["items"]


def test_a_right_answer_to_a_question_that_is_hidden_prevents_the_launch() -> None:
    study = form_draft(**{"training:sure": "3", "training:why": "1"})
    text = reasons(study)["items"]
    assert "has a right answer to “why”, but nobody is asked that after its other right answers" in text
    assert "shown_if" in text


@pytest.mark.parametrize("answers", [{"training:sure": "1", "training:why": "2"}, {"training:score": "b > a"}])
def test_right_answers_that_go_together_are_found(answers: dict[str, str]) -> None:
    study = form_draft(**answers)
    assert reasons(study) == {}
    best = best_attempt(Instrument.of(study), item_data(study.items.get(external_id="t1")))
    assert best is not None
    assert best.badness == 0


def test_a_type_whose_workers_write_has_no_training() -> None:
    study = create_study(
        slug="writing", task_type="production", values={"title": "Write"}, config={}, texts={}, actor="test", owner=None
    )
    rows = [
        {"sample_id": "t1", "context": "Where is the owl?", "training:response": "In the tree."},
        {"sample_id": "m1", "context": "Where is the map?"},
    ]
    import_items(study=study, table=table(rows), actor="test")
    assert "Workers of this type cannot be trained: they write texts" in reasons(study)["items"]


def test_the_checks_of_a_study_keep_what_it_named_before() -> None:
    """Whoever may not see the other study can still change this one."""
    gold_study((*TRAINING, *MAIN), slug="first", live=False)
    study = draft(training_skip_if_passed=["first"])
    _, problems = check_study(spec_of(study), instance=Study.objects.get(pk=study.pk), visible=Study.objects.none())
    assert problems == []
