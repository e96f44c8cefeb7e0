"""Stories as exports: their turns with the suggestions for each, and the table that the authors' script reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.__main__ import main
from annotation.models import Offer, Study, Submission
from annotation.results import exports
from annotation.results.exports import ExportError, export, extra, kinds_of, turns
from annotation.results.exports.request import Request
from annotation.task_types.cyoa.cyoa import Cyoa
from annotation.task_types.extra_exports import ExtraExport, SubmissionRows
from annotation.task_types.items import Json
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.offers import OfferData
from generation.models import Suggester
from tests.annotation.offers_helpers import story_study
from tests.annotation.results.exports.helpers import exclude, exported, exported_bytes, read_csv, read_jsonl
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def stories(count: int = 2, *, rounds: int = 1, **values: Any) -> tuple[Study, list[Submission]]:
    """Stories by simulated answers; all suggestions come from the pool."""
    study = story_study(rounds=rounds, **values)
    Suggester.objects.update(active=False)
    return study, [make_submission(study=study, seed=seed) for seed in range(count)]


def test_each_suggestion_and_each_line_written_alone_is_a_row() -> None:
    study, (first, _) = stories()

    rows = [row for row in read_csv(exported(study, "turns")) if row["submission"] == str(first.pk)]

    assert [(row["turn"], row["round"], row["author"]) for row in rows[:1]] == [("1", "0", "")]
    assert rows[0]["text"] == rows[0]["submitted"] == first.ratings.get(question="turn", target="1").text
    suggested = rows[1:]
    offers = {offer.suggester: offer for offer in Offer.objects.filter(assignment=first.assignment)}
    assert {row["author"] for row in suggested} == set(offers) == {"model-a", "model-b"}
    for row in suggested:
        offer = offers[row["author"]]
        assert (row["text"], row["turn"], row["round"]) == (offer.text, "2", "1")
        assert row["chosen"] == ("true" if offer.chosen else "false")
        assert row["submitted"] == (first.ratings.get(question="turn", target="2").text if offer.chosen else "")
    assert {row["worker"] for row in rows} == {first.participant.pseudonym}
    assert {row["story"] for row in rows} == {f"{first.pk} {study.items.get().external_id}"}


def test_excluded_and_simulated_stories_are_marked_and_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "BATCH", 1)
    study, (person, _) = stories()
    robot = make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    exclude(person)

    marks = {row["submission"]: (row["synthetic"], row["included"]) for row in read_csv(exported(study, "turns"))}

    assert (marks[str(person.pk)], marks[str(robot.pk)]) == (("false", "false"), ("true", "true"))
    assert len(marks) == 3
    only = read_jsonl(exported(study, "turns", "jsonl", simulated=True))
    assert {row["submission"] for row in only} == {robot.pk}


def test_the_analysis_reads_the_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, _ = stories(3)
    for format in ("jsonl", "csv"):
        path = tmp_path / f"turns.{format}"
        path.write_bytes(exported_bytes(study, "turns", format)[0])
        assert main(["writing", str(path), "--json"]) == 0
        data = json.loads(capsys.readouterr().out)["data"]
        assert data == {"stories": 3, "writers": 3, "turns": 6, "suggestions": 6, "accepted": 3}


def test_studies_without_turns_have_no_such_export() -> None:
    other = make_study(items=1)
    assert not {"turns", "cyoa-script"} & set(kinds_of(other))
    with pytest.raises(ExportError, match="has no turns"):
        export(other, kind="turns", out=io.BytesIO())


# --- for the authors' script ---

LINES = [f"{name}{at}" for name in ("modelLines", "baselineLines", "userLines", "userEdits") for at in range(1, 6)]


def read_script_table(content: bytes) -> list[dict[str, str]]:
    """A separate reader, by the published description: tab-separated, with the index in the first column."""
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8"), newline=""), delimiter="\t", strict=True)
    assert header[0] == ""
    assert [row[0] for row in rows] == [str(at) for at in range(len(rows))]
    assert all(len(row) == len(header) and all(row) for row in rows)
    return [dict(zip(header[1:], row[1:], strict=True)) for row in rows]


def test_a_story_is_what_the_script_expects() -> None:
    study, made = stories(rounds=5)
    content, count = exported_bytes(study, "cyoa-script")
    rows = read_script_table(content)

    assert len(rows) == count == 2
    for row, submission in zip(rows, made, strict=True):
        turn = {int(each.target): each.text for each in submission.ratings.filter(question="turn")}
        offers: Mapping[tuple[int, str], Offer] = {
            (offer.round, offer.suggester): offer for offer in Offer.objects.filter(assignment=submission.assignment)
        }
        accepted = []
        for at in range(1, 6):
            assert row[f"userLines{at}"] == turn[2 * at - 1]
            assert row[f"userEdits{at}"] == turn[2 * at]
            assert row[f"modelLines{at}"] == offers[at, "model-a"].text
            assert row[f"baselineLines{at}"] == offers[at, "model-b"].text
            accepted.append("true" if offers[at, "model-a"].chosen else "false")
            assert row[f"isModelAccepted{at}"] == accepted[-1]
        assert row["isModelAccepted"] == "," + ",".join(accepted)
        statements = [each["topic"] for each in study.config["statements"]]
        answers = [submission.ratings.get(question=topic).value for topic in statements]
        assert [float(row[f"Q{at}"]) for at in range(1, 6)] == answers


#: Ten turns that a table could spoil.
SPOILERS = [
    'He said "no", twice, and then left us.',
    "'Quoted', from the first word to the last'",
    "1, 2\tand 3 are numbers, with a tab before the and.",
    "Zoë’s 猫 slept on the roof of the old house.",
    "This line ends here,\nand this one goes on below it.",
    "#hash; 50 % of it was gone by the evening.",
    '"All of this line is in double quotes, you see."',
    "N/A or so, as the clerk said to the two of us.",
    "=1+1 was written above the door of the shop.",
    "198419841984198419841984",
]


def test_pandas_reads_every_value_as_the_script_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the published columns alone: ``read_csv`` with tabs and the first column as index, flags as true and false,
    ``isModelAccepted`` split at its commas without the first part. Expected values are those in the database."""
    study, (plain,) = stories(1, rounds=5)
    left = iter(SPOILERS)

    def spoiling(worker: object, page: object, question: TextQuestion, offers: Sequence[OfferData]) -> dict[str, str]:
        picked = {"pick": offers[-1].side, "pick_history": offers[-1].side} if offers else {}
        return {**picked, question.key: next(left)}

    monkeypatch.setattr("annotation.task_types.cyoa.cyoa.written_turn", spoiling)
    made = [plain, make_submission(study=study, seed=2)]

    content, _ = exported_bytes(study, "cyoa-script")
    frame = pd.read_csv(io.BytesIO(content), sep="\t", index_col=0)

    flags = [f"isModelAccepted{at}" for at in range(1, 6)]
    assert set(frame.columns) == {*LINES, *flags, "isModelAccepted", "Q1", "Q2", "Q3", "Q4", "Q5"}
    assert frame.index.tolist() == [0, 1] and not frame.isna().to_numpy().any()
    assert all(frame[flag].dtype == bool for flag in flags)
    assert [frame.loc[1, f"{name}{at}"] for at in range(1, 6) for name in ("userLines", "userEdits")] == [
        " ".join(line.split()) for line in SPOILERS
    ]
    for submission, row in zip(made, frame.to_dict("records"), strict=True):
        offers = Offer.objects.filter(assignment=submission.assignment)
        for offer in offers:
            name = "modelLines" if offer.suggester == "model-a" else "baselineLines"
            assert row[f"{name}{offer.round}"] == offer.text
        by_model = [each.suggester == "model-a" for each in offers.filter(chosen=True).order_by("round")]
        assert [row[flag] for flag in flags] == by_model
        first, *parts = row["isModelAccepted"].split(",")
        assert first == "" and parts == [str(each).lower() for each in by_model]
        answers = [submission.ratings.get(question=each["topic"]).value for each in study.config["statements"]]
        assert [row[f"Q{at}"] for at in range(1, 6)] == answers


def test_only_complete_stories_of_included_submissions_are_rows() -> None:
    study, (first, second, third) = stories(3, rounds=5)
    exclude(first)
    lost = Offer.objects.filter(assignment=second.assignment, chosen=False).first()
    assert lost is not None
    bare = {"source": "none", "text": "", "suggestion": None}
    copy = {name: getattr(lost, name) for name in ("study_id", "assignment_id", "item_id", "step", "side", "round")}
    Offer.objects.create(
        **copy, **bare, number=2, suggester=lost.suggester, asked_at=lost.asked_at, shown_at=lost.shown_at
    )

    rows = read_script_table(exported_bytes(study, "cyoa-script")[0])

    assert [row["userLines1"] for row in rows] == [third.ratings.get(question="turn", target="1").text]


def test_the_error_for_a_study_of_another_design_says_what_to_use_instead() -> None:
    study, _ = stories(1, rounds=2)
    assert "cyoa-script" not in kinds_of(study) and "turns" in kinds_of(study)
    with pytest.raises(ExportError, match="two suggesters over five rounds"):
        export(study, kind="cyoa-script", out=io.BytesIO())


def test_a_study_of_the_published_design_has_the_table() -> None:
    study, _ = stories(1, rounds=5)
    assert "cyoa-script" in kinds_of(study)
    assert exports.file_name(study, kind="cyoa-script") == f"{study.slug}-cyoa-script.tsv"


def test_an_export_that_a_type_declares_gets_the_submissions_that_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(config: Json, submissions: Iterable[SubmissionRows]) -> Iterator[Sequence[str]]:
        for submission in submissions:
            texts = [rating.text for rating in submission.ratings if rating.question == "turn"]
            yield [str(config["rounds"]), str(len(submission.offers)), *texts]

    table = ExtraExport("first-lines", ("rounds", "offers", "1", "2"), lambda config: True, "No.", rows)
    monkeypatch.setattr(Cyoa, "extra_exports", (table,))
    monkeypatch.setitem(extra.EXTRA_EXPORTS, "first-lines", table)
    monkeypatch.setattr(extra, "BATCH", 1)
    study, (excluded, *made) = stories(3)
    exclude(excluded)

    chunks = list(extra.extra_chunks(Request(study), "first-lines"))

    lines = b"".join(data for data, _ in chunks).decode().splitlines()
    assert sum(count for _, count in chunks) == 2
    assert [line.split("\t") for line in lines] == [
        ["rounds", "offers", "1", "2"],
        *(["1", "2", *(submission.ratings.get(question="turn", target=at).text for at in "12")] for submission in made),
    ]
    with pytest.raises(ExportError, match="No"):
        extra.extra_chunks(Request(make_study(items=1)), "first-lines")
