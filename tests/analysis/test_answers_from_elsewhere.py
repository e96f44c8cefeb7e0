"""Exports of Label Studio, Argilla and Potato.

The files are written as those tools document them, or as their own code writes them:

- Label Studio: “Label Studio Task Format” (documentation) for JSON; ``convert_to_json_min``, ``prettify_result`` and
  ``csv2.prepare_annotation`` of the converter in label-studio-sdk for JSON-MIN and CSV.
- Argilla: ``Record.to_dict`` in argilla/records/_resource.py for JSON, ``GenericIO._record_to_dict`` in
  argilla/records/_io/_generic.py for flat rows, as data sets on the Hub have them.
- Potato: docs/data-export/export_formats.md for user_state.json; example-projects/textual_uncertainty/
  annotation_output for annotated_instances.jsonl; the columns ``schema:::label`` of annotated_instances.tsv.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.__main__ import main
from analysis.answer_files.opening import open_answers

Row = tuple[str, str, str, str, str]


def rows_of(path: Path | str) -> list[Row]:
    """Worker, item, question (with its part), value, and the words of each answer."""
    frame = open_answers(str(path)).read(["worker", "item", "criterion", "part", "value", "label", "answer_text"])
    rows = frame.astype(object).itertuples(index=False, name=None)
    return [
        (worker, item, f"{criterion}/{part}" if part else criterion, value, label or text)
        for worker, item, criterion, part, value, label, text in rows
    ]


def levels_of(path: Path | str) -> dict[str, str]:
    return {criterion.name: criterion.level for criterion in open_answers(str(path)).criteria}


def saved(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False))
    return path


# --- Label Studio ---


def result(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "Dx_aB91ISN", "from_name": name, "to_name": "text", "type": kind, "value": dict(value)}


def annotation(who: Any, *results: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": 1001,
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2021-03-09T22:16:08.728353Z",
        "updated_at": "2021-03-09T22:16:08.728378Z",
        "lead_time": 4.288,
        "result_count": 0,
        "task": 1,
        "completed_by": who,
        **fields,
    }


TASKS = [
    {
        "id": 7,
        "data": {"text": "To have faith is to trust yourself", "system": "a", "tokens": ["To", "have"]},
        "annotations": [
            annotation(
                10,
                result("sentiment", "choices", {"choices": ["Positive"]}),
                result("fluency", "rating", {"rating": 4}),
                result("topics", "choices", {"choices": ["faith", "self"]}),
                result("why", "textarea", {"text": ["It is kind.", "Really."]}),
            ),
            annotation(
                {"id": 11, "email": "b@example.org"},
                result("sentiment", "choices", {"choices": ["Negative"]}),
                result("fluency", "rating", {"rating": 2}),
                result("topics", "choices", {"choices": ["faith", "trust"]}),
                result("entities", "labels", {"start": 3, "end": 7, "text": "have", "labels": ["Verb"]}),
            ),
            annotation(12, result("fluency", "rating", {"rating": 1}), was_cancelled=True),
        ],
        "predictions": [],
    }
]


def test_label_studio_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "project.json", TASKS)
    assert set(rows_of(path)) == {
        ("10", "7", "sentiment", "2.0", "Positive"),
        ("b@example.org", "7", "sentiment", "1.0", "Negative"),
        ("10", "7", "fluency", "4.0", ""),
        ("b@example.org", "7", "fluency", "2.0", ""),
        ("10", "7", "why", "", "It is kind.\nReally."),
        ("10", "7", "topics/faith", "1.0", "yes"),
        ("10", "7", "topics/self", "1.0", "yes"),
        ("10", "7", "topics/trust", "0.0", "no"),
        ("b@example.org", "7", "topics/faith", "1.0", "yes"),
        ("b@example.org", "7", "topics/self", "0.0", "no"),
        ("b@example.org", "7", "topics/trust", "1.0", "yes"),
    }
    assert levels_of(path) == {"sentiment": "nominal", "fluency": "ordinal", "why": "text", "topics": "nominal"}
    source = open_answers(str(path))
    assert set(source.read(["system"])["system"]) == {"a"}
    assert set(source.read(["tokens"])["tokens"]) == {'["To", "have"]'}
    assert set(source.read(["seconds"])["seconds"]) == {"4.288"}
    assert "1 span left out." in capsys.readouterr().err
    assert list(source.notes) == ["1 skipped annotation left out.", "1 span left out."]


MINIMAL = [
    {
        "text": f"text {task}", "id": task, "sentiment": sentiment, "fluency": [{"rating": fluency}],
        "annotator": who, "annotation_id": task * 10 + who, "created_at": "2021-03-09T22:16:08.728353Z",
        "updated_at": "2021-03-09T22:16:08.728378Z", "lead_time": 3.5,
    }
    for task, who, sentiment, fluency in [(1, 1, "good", 5), (1, 2, "bad", 4), (2, 1, "good", 3), (2, 2, "good", 3)]
]  # fmt: skip


def test_label_studio_json_min(tmp_path: Path) -> None:
    path = saved(tmp_path / "min.json", MINIMAL)
    assert ("2", "1", "sentiment", "1.0", "bad") in rows_of(path)
    assert ("1", "2", "fluency", "3.0", "") in rows_of(path)
    assert len(rows_of(path)) == 8
    assert set(open_answers(str(path)).read(["text"])["text"]) == {"text 1", "text 2"}


def test_label_studio_csv(tmp_path: Path) -> None:
    """``csv2`` writes everything that is no text as JSON."""
    path = tmp_path / "project.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted(MINIMAL[0]), quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows({**record, "fluency": json.dumps(record["fluency"])} for record in MINIMAL)
    assert sorted(rows_of(path)) == sorted(rows_of(saved(tmp_path / "min.json", MINIMAL)))


def test_label_studio_records_that_show_no_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {**MINIMAL[0]}
    del record["fluency"]
    assert main(["agreement", str(saved(tmp_path / "min.json", [record]))]) == 2
    assert "export the project as JSON instead" in capsys.readouterr().err


# --- Argilla ---

NESTED = [
    {
        "id": "r1",
        "fields": {"prompt": "Hi", "response": "Hello"},
        "metadata": {"model": "m1"},
        "suggestions": {"label": {"value": "good", "score": 0.9, "agent": "bot"}},
        "responses": {
            "label": [{"value": "good", "user_id": "u1"}, {"value": "bad", "user_id": "u2"}],
            "rating": [{"value": 4, "user_id": "u1"}, {"value": 5, "user_id": "u2"}],
            "topics": [{"value": ["x", "y"], "user_id": "u1"}, {"value": ["x"], "user_id": "u2"}],
            "order": [{"value": [{"value": "a", "rank": 2}, {"value": "b", "rank": 1}], "user_id": "u1"}],
            "spans": [{"value": [{"start": 0, "end": 2, "label": "greeting"}], "user_id": "u1"}],
        },
        "vectors": {},
        "_server_id": "e0ba74e8",
    }
]
ANSWERS = {
    ("u1", "r1", "label", "2.0", "good"),
    ("u2", "r1", "label", "1.0", "bad"),
    ("u1", "r1", "rating", "4.0", ""),
    ("u2", "r1", "rating", "5.0", ""),
    ("u1", "r1", "topics/x", "1.0", "yes"),
    ("u1", "r1", "topics/y", "1.0", "yes"),
    ("u2", "r1", "topics/x", "1.0", "yes"),
    ("u2", "r1", "topics/y", "0.0", "no"),
    ("u1", "r1", "order/a", "2.0", ""),
    ("u1", "r1", "order/b", "1.0", ""),
}


def test_argilla_json(tmp_path: Path) -> None:
    path = saved(tmp_path / "records.json", NESTED)
    assert set(rows_of(path)) == ANSWERS
    source = open_answers(str(path))
    assert list(source.notes) == ["1 span left out."]
    assert set(source.read(["model"])["model"]) == {"m1"}


def flat_record() -> dict[str, Any]:
    record: dict[str, Any] = {"id": "r1", "status": "completed", "_server_id": "e0", "prompt": "Hi", "model": "m1"}
    for question, responses in NESTED[0]["responses"].items():  # type: ignore[attr-defined]
        record[f"{question}.responses"] = [response["value"] for response in responses]
        record[f"{question}.responses.users"] = [response["user_id"] for response in responses]
        record[f"{question}.responses.status"] = ["submitted" for _ in responses]
    return record


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_argilla_rows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([flat_record()]), path)
    else:
        record = json.dumps(flat_record())
        path.write_text(f"{record}\n" if suffix == ".jsonl" else f"[{record}]")
    assert set(rows_of(path)) == ANSWERS


def test_a_draft_in_argilla_is_no_answer(tmp_path: Path) -> None:
    record = flat_record()
    record["label.responses.status"] = ["submitted", "draft"]
    path = saved(tmp_path / "rows.json", [record])
    assert [row[0] for row in rows_of(path) if row[2] == "label"] == ["u1"]
    assert "1 draft response left out." in open_answers(str(path)).notes


# --- Potato ---

LINES = [
    {
        "id": "2", "displayed_text": "The results indicate …",
        "label_annotations": {"Aspects": {"Number": "true"}, "certainty": {"scale_4": "4"}},
        "span_annotations": {}, "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 2s "},
    },
    {
        "id": "0", "displayed_text": "Kids get more exercise …",
        "label_annotations": {"Aspects": {"Extent": "true"}, "explanation": {"text_box": "Because."}},
        "span_annotations": {"3-7": {}}, "behavioral_data": {"time_string": "Time spent: 0d 0h 0m 13s "},
    },
    {"id": "consent.html", "displayed_text": "", "label_annotations": {"ok": {"Yes": "true"}}, "span_annotations": {}},
]  # fmt: skip


def lines_of(folder: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    path = folder / "annotated_instances.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_one_person_of_potato(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "ann@example.org", LINES)
    assert set(rows_of(path)) == {
        ("ann@example.org", "2", "Aspects", "2.0", "Number"),
        ("ann@example.org", "2", "certainty", "4.0", "scale_4"),
        ("ann@example.org", "0", "Aspects", "1.0", "Extent"),
        ("ann@example.org", "0", "explanation", "", "Because."),
    }
    source = open_answers(str(path))
    assert set(source.read(["seconds"])["seconds"]) == {"62.0", "13.0"}
    assert list(source.notes) == ["1 page of the survey around the study left out.", "1 span left out."]


def test_the_folder_of_potato_has_everybody(tmp_path: Path) -> None:
    lines_of(tmp_path / "out" / "ann", LINES)
    saved(
        tmp_path / "out" / "ben" / "user_state.json",
        {
            "user_id": "ben",
            "instance_id_to_label_to_value": {"2": {"Aspects": {"labels": {"Extent": True, "Number": False}}}},
            "instance_id_to_span_to_value": {
                "2": {"ner": [{"start": 0, "end": 5, "label": "PERSON", "text": "Alice"}]}
            },
        },
    )
    rows = rows_of(tmp_path / "out")
    assert ("ben", "2", "Aspects", "1.0", "Extent") in rows
    assert ("ann", "2", "Aspects", "2.0", "Number") in rows


def test_the_table_of_potato(tmp_path: Path) -> None:
    path = tmp_path / "annotated_instances.tsv"
    columns = [
        "user",
        "instance_id",
        "displayed_text",
        "label:::Good",
        "label:::Bad",
        "why:::text_box",
        "sure:::scale_5",
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerows(
            [
                columns,
                ["ann", "i1", "Text", "label:::Good", "", "Nice", "5"],
                ["ben", "i1", "Text", "", "label:::Bad", "", "2"],
            ]
        )
    assert set(rows_of(path)) == {
        ("ann", "i1", "label", "2.0", "Good"),
        ("ann", "i1", "why", "", "Nice"),
        ("ann", "i1", "sure", "5.0", "scale_5"),
        ("ben", "i1", "label", "1.0", "Bad"),
        ("ben", "i1", "sure", "2.0", "scale_5"),
    }


# --- all of them ---


def test_choices_that_begin_with_numbers_are_points_of_a_scale(tmp_path: Path) -> None:
    labels = ["1 - bad", "2 - fair", "10 - good"]
    tasks = [
        {"id": number, "data": {}, "annotations": [annotation(1, result("q", "choices", {"choices": [label]}))]}
        for number, label in enumerate(labels)
    ]
    path = saved(tmp_path / "p.json", tasks)
    assert [(row[3], row[4]) for row in rows_of(path)] == [("1.0", labels[0]), ("2.0", labels[1]), ("10.0", labels[2])]
    assert levels_of(path) == {"q": "ordinal"}
    assert open_answers(str(path)).criteria[0].bounds == (1.0, 10.0)


def test_a_single_choice_is_one_of_several_where_others_chose_more(tmp_path: Path) -> None:
    chosen = [["x"], ["x", "y"], []]
    tasks = [
        {
            "id": 1,
            "data": {},
            "annotations": [
                annotation(who, result("q", "choices", {"choices": options})) for who, options in enumerate(chosen)
            ],
        }
    ]
    rows = {(row[0], row[2], row[3]) for row in rows_of(saved(tmp_path / "p.json", tasks))}
    assert rows == {
        *(("0", "q/x", "1.0"), ("0", "q/y", "0.0"), ("1", "q/x", "1.0"), ("1", "q/y", "1.0")),
        *(("2", "q/x", "0.0"), ("2", "q/y", "0.0")),
    }


def test_an_export_with_spans_only_is_refused_and_says_how_many(tmp_path: Path, capsys: Any) -> None:
    span = result("entities", "labels", {"start": 3, "end": 7, "text": "have", "labels": ["Verb"]})
    path = saved(tmp_path / "p.json", [{"id": 1, "data": {}, "annotations": [annotation(1, span, span)]}])
    assert main(["agreement", str(path)]) == 2
    assert "there are no answers in this Label Studio export (2 spans left out.)" in capsys.readouterr().err


def test_agreement_of_two_people_in_label_studio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cohen's example: Krippendorff's alpha of the nominal data 1,1,2,2 / 1,1,2,1 is 0.5333 (by hand: observed
    disagreement 1/4, expected 15/28)."""
    pairs = [("yes", "yes"), ("yes", "yes"), ("no", "no"), ("no", "yes")]
    tasks = [
        {
            "id": number,
            "data": {},
            "annotations": [
                annotation(who, result("q", "choices", {"choices": [label]})) for who, label in enumerate(labels, 1)
            ],
        }
        for number, labels in enumerate(pairs)
    ]
    assert main(["agreement", str(saved(tmp_path / "p.json", tasks)), "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert f"{1 - (1 / 4) / (15 / 28):.4f}" == "0.5333"
    assert "0.533" in json.dumps(outcome)


def test_a_second_answer_of_one_person_replaces_the_first(tmp_path: Path) -> None:
    twice = [annotation(1, result("q", "rating", {"rating": value})) for value in (2, 5)]
    path = saved(tmp_path / "p.json", [{"id": 1, "data": {}, "annotations": twice}])
    assert [row[3] for row in rows_of(path)] == ["5.0"]
    assert list(open_answers(str(path)).notes) == ["1 earlier answer to the same question left out."]


def test_a_report_of_another_tool_s_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [
        {
            "id": number,
            "data": {"text": f"text {number}", "system": "ab"[number % 2]},
            "annotations": [
                annotation(
                    who,
                    result("fluent", "rating", {"rating": 1 + (number + len(who)) % 5}),
                    result("label", "choices", {"choices": ["x" if number % 3 else "y"]}),
                )
                for who in ("ann@example.org", "bella@example.org", "carmen@example.org")
            ],
        }
        for number in range(12)
    ]
    path = saved(tmp_path / "project.json", tasks)
    assert main(["report", str(path), "--out", str(tmp_path / "report"), "--draws", "50"]) == 0
    assert "failed" not in capsys.readouterr().err
    page = (tmp_path / "report" / "report.html").read_text()
    assert "project (imported from Label Studio)" in page
    assert "ann@example.org" not in page
    numbers = json.loads((tmp_path / "report" / "report.json").read_text())
    assert numbers["sections"]["data"]["workers"] == 3
    assert numbers["sections"]["data"]["items"] == 12


def test_no_paper_is_made_of_another_tool_s_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "p.json", TASKS)
    assert main(["report", str(path), "--paper", str(tmp_path / "paper")]) == 2
    assert "a paper's part needs a bundle; leave out --paper" in capsys.readouterr().err
