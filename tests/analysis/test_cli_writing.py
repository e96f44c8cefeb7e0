"""``python -m analysis writing`` and ``variability``: same figures as the library, and one clear line for bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.commands.written_lines import COLUMNS
from analysis.data import write_bundle
from analysis.report.source import Source
from analysis.report.stories import lines_of
from tests.analysis.support.studies import study_data
from tests.analysis.support.writing import writing_study


def run(capsys: pytest.CaptureFixture[str], *command: str | Path) -> tuple[int, str, str]:
    status = main([str(word) for word in command])
    out, err = capsys.readouterr()
    return status, out, err


def figures(capsys: pytest.CaptureFixture[str], *command: str | Path) -> dict[str, Any]:
    status, out, err = run(capsys, *command, "--json")
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "study.zip"
    with path.open("wb") as out:
        write_bundle(writing_study(), out)
    return path


def table(tmp_path: Path, **changed: str) -> Path:
    """The same lines as a CSV file; ``changed`` replaces cells of its first row."""
    lines = lines_of(Source(writing_study())).rename(columns={"writer": "worker"})
    rows: list[dict[Any, Any]] = lines.astype(object).to_dict("records")
    rows[0] |= changed
    path = tmp_path / "lines.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*COLUMNS, *(name for name in changed if name not in COLUMNS)])
        writer.writeheader()
        writer.writerows({name: str(value) for name, value in row.items()} for row in rows)
    return path


def test_a_bundle_and_its_lines_give_the_same_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = figures(capsys, "writing", bundle(tmp_path))
    other = figures(capsys, "writing", table(tmp_path))

    assert one["data"] == {"stories": 3, "writers": 3, "turns": 12, "suggestions": 12, "accepted": 6}
    assert (one["estimates"], one["figures"], one["data"]) == (other["estimates"], other["figures"], other["data"])
    # As in the report's test: 4/3 characters for model-a, half of the choices.
    assert one["estimates"]["edits.model-a.levenshtein"]["value"] == pytest.approx(4 / 3)
    assert one["estimates"]["choice.model-a.model-b.share"]["value"] == 0.5
    assert one["figures"]["tests"][0]["one_sided"] == pytest.approx(42 / 64)


def test_ratings_of_words_add_concreteness(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("word,rating\ndog,4.8\nhome,4.0\ncat,4.9\n")
    found = figures(capsys, "writing", bundle(tmp_path), "--concreteness", ratings)["estimates"]
    # Cats in every suggestion of model-b, nothing else that is rated.
    assert found["texts.model-b.nouns"]["value"] == pytest.approx(4.9)
    assert found["texts.model-b.verbs"]["value"] is None


def test_text_output_and_the_table_of_edits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out_file = tmp_path / "edits.csv"
    status, out, _ = run(capsys, "writing", bundle(tmp_path), "--out", out_file)

    assert status == 0
    assert "3 stories by 3 writers, 12 suggestions, 6 accepted" in out
    assert "Choices for model-a, not model-b: 3 of 6" in out and "one-sided" in out and "Mann–Whitney" in out
    rows = list(csv.DictReader(out_file.open(encoding="utf-8")))
    assert [row["levenshtein"] for row in rows if row["author"] == "model-a"] == ["0.0", "3.0", "1.0"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"turn": "x"}, 'row 1, column "turn": "x" is not a whole number'),
        ({"chosen": "maybe"}, 'row 1, column "chosen": "maybe" is not true or false'),
        ({"text": ""}, 'column "text": the cell is empty'),
        ({"included": "perhaps"}, 'column "included"'),
    ],
)
def test_a_bad_cell_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    status, out, err = run(capsys, "writing", table(tmp_path, **changed))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ") and message in err


def test_sources_without_turns_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with other.open("wb") as out:
        write_bundle(study_data(["i0"], {("i0", "x"): 3.0}), out)
    assert "no included submission has a turn" in run(capsys, "writing", other)[2]
    assert "no such file" in run(capsys, "writing", tmp_path / "none.csv")[2]
    plain = tmp_path / "plain.csv"
    plain.write_text("a,b\n1,2\n")
    assert 'column "story": there is no such column' in run(capsys, "writing", plain)[2]
    assert "--every" in run(capsys, "writing", other, "--every", "0")[2]


# --- variability ---

ROWS = "context,text,source,writer\nc1,a dog ran,human,x\nc1,a cat ran,human,y\nc1,a dog ran,m,\nc2,it snows,human,x\n"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text(ROWS)
    return path


def test_texts_by_row_and_by_list_give_the_same_figures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: Path
) -> None:
    lists = tmp_path / "texts.jsonl"
    contexts = [
        {"id": "c1", "h": ["a dog ran", "a cat ran"], "g": ["a dog ran"]},
        {"id": "c2", "h": ["it snows"], "g": []},
    ]
    lists.write_text("\n".join(map(json.dumps, contexts)))

    one = figures(capsys, "variability", rows, "--tagger", "none")
    other = figures(capsys, "variability", lists, "--human", "h", "--model", "m=g", "--tagger", "none")

    assert one["data"] == other["data"] == {"contexts": 2, "texts": 4, "by_people": 3, "decoders": ["m"]}
    assert one["estimates"] == other["estimates"]
    # H of c1 is 2 of 6 words; C is 0 and 1/3.
    assert one["estimates"]["people.lexical-1.mu_human"]["value"] == pytest.approx(1 / 3)
    assert one["estimates"]["m.lexical-1.cross_minus_human"]["value"] == pytest.approx(1 / 6 - 1 / 3)
    assert one["figures"]["worst"]["m"]["lexical-1"][0]["context"] == "c1"


def test_tags_embeddings_writers_and_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1, 0], [0, 1], [1, 0], [1, 1]]))
    out_file = tmp_path / "out.csv"
    command: list[str | Path] = [
        "variability",
        rows,
        "--embeddings",
        tmp_path / "v.npy",
        "--writer",
        "writer",
        "--out",
        out_file,
    ]

    found = figures(capsys, *command)["estimates"]
    status, text, _ = run(capsys, *command)

    # Rows 1 and 2 are at right angles; row 3, the model's, is like row 1.
    assert found["people.semantic.mu_human"]["value"] == 1
    assert found["m.semantic.cross_minus_human"]["value"] == pytest.approx(-0.5)
    assert found["people.syntactic-1.mu_human"]["value"] == 0
    assert found["writers.lexical-1.between"]["value"] == pytest.approx(1 / 3)
    assert status == 0 and "2 contexts, 4 texts (3 by people), decoders m" in text
    assert {row["decoder"] for row in csv.DictReader(out_file.open())} == {"people", "m"}


def test_the_packaged_model_gives_semantic_distances(
    capsys: pytest.CaptureFixture[str], rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Row 1, “a dog ran”, and row 2 have the cosine 0.6; the model's text is that of row 1.
    vectors = {"a dog ran": (1.0, 0.0), "a cat ran": (0.6, 0.8), "it snows": (0.0, 1.0)}
    monkeypatch.setattr(
        "analysis.commands.variability.load_embedder", lambda: lambda texts: np.array([vectors[text] for text in texts])
    )
    found = figures(capsys, "variability", rows, "--tagger", "none")
    assert found["settings"]["embedder"] == "minilm"
    assert found["estimates"]["people.semantic.mu_human"]["value"] == pytest.approx(0.4)
    assert found["estimates"]["m.semantic.cross_minus_human"]["value"] == pytest.approx(0.2 - 0.4)
    without = figures(capsys, "variability", rows, "--tagger", "none", "--embedder", "none")
    assert without["settings"]["embedder"] == "none" and "people.semantic.mu_human" not in without["estimates"]


def test_a_missing_model_is_told_and_refused_only_if_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.similarity.embedding.find_spec", lambda name: None)
    status, out, err = run(capsys, "variability", rows, "--tagger", "none")
    assert (status, err) == (0, "") and "Semantic distances are left out: the model" in out
    assert figures(capsys, "variability", rows, "--tagger", "none")["settings"]["embedder"] == "none"
    status, out, err = run(capsys, "variability", rows, "--embedder", "minilm")
    assert (status, out) == (2, "")
    assert '--embedder, "minilm": the model for sentence embeddings is not installed' in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--people", "crowd"], 'no row has "crowd"; there are "human", "m"'),
        (["--context", "topic"], 'column "topic": there is no such column'),
        (["--tagger", "en_none"], "spaCy is not installed"),
        (["--model", "m=g"], "use it with --human only"),
        (["--human", "h"], "this is not JSON"),
        (["--embeddings", "short.npy", "--embedder", "minilm"], "--embeddings gives them already; use one of the two"),
        (["--embeddings", "texts.csv"], "this is not an .npy file"),
        (["--embeddings", "short.npy"], "has 1 rows for 4 texts"),
        (["--embeddings", "words.npy"], "not a table of numbers"),
    ],
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], rows: Path, options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rows.parent)
    np.save("short.npy", np.ones((1, 2)))
    np.save("words.npy", np.array([["a"]]))
    status, out, err = run(capsys, "variability", rows, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "c1", "h": "text"}', 'field "h": this is not a list of texts'),
        ('{"id": "c1"}', 'field "h": there is no such field'),
        ('{"h": []}', 'field "id": there is no such field'),
        ('{"id": "c1", "h": []}\n{"id": "c1", "h": []}', '"c1" appears twice'),
    ],
)
def test_bad_lists_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(line)
    status, _, err = run(capsys, "variability", path, "--human", "h")
    assert status == 2 and message in err


@pytest.mark.parametrize("command", ["writing", "variability"])
def test_help_describes_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert "--json" in capsys.readouterr().out
