"""Exports of a study as commands read them: what is left out, what a file says itself, and files that are no good."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.answer_files.files import Criterion, LongFile, TableFile, widest
from analysis.answer_files.opening import open_answers

#: Six texts of two systems by six workers: three give texts of the better system 4 and the others 2, three one more.
LONG = {
    "study": "s",
    "submission": "1",
    "arm": "",
    "role": "main",
    "system": "a",
    "part": "",
    "about": "item",
    "criterion": "fluent",
    "scale_level": "ordinal",
    "scale_low": "1.0",
    "scale_high": "5.0",
    "label": "",
    "answer_text": "",
    "included": "true",
    "why_not": "",
}


def answers(**changes: str) -> list[dict[str, str]]:
    return [
        LONG
        | {"item": f"{system}{item}", "system": system, "worker": f"w{worker}", "submission": f"{worker}{item}"}
        | {"value": str((4.0 if system == "a" else 2.0) + worker % 2)}
        | changes
        for system in "ab"
        for item in range(6)
        for worker in range(6)
    ]


def saved(path: Path, rows: Iterable[Mapping[str, str]]) -> str:
    rows = list(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def api_file(path: Path, **changes: Any) -> str:
    rating = {
        "submission": 1, "item": "a1", "role": "main", "question": "fluent", "target": "", "about": "item",
        "scale_level": "ordinal", "scale_low": 1.0, "scale_high": 5.0, "value": 4.0, "label": "", "text": "",
        "worker": "w1", "arm": "", "included": True,
    }  # fmt: skip
    content = {"ratings": [{"next": None, "results": [{k: v for k, v in (rating | changes).items() if v != "-"}]}]}
    path.write_text(json.dumps(content))
    return str(path)


def figures(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out)
    return outcome


def error(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    return printed.err


def test_answers_that_are_in_no_figure_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: 4.5 and 2.5 in what counts. With the others, a would be below 2."""
    others = [
        *answers(value="1.0", included="false", why_not="excluded"),
        *answers(value="1.0", role="practice"),
        *answers(value="1.0", role="gold"),
    ]
    outcome = figures(capsys, "compare", saved(tmp_path / "long.csv", [*others, *answers()]))
    assert outcome["data"] == {"answers": 72, "workers": 6, "items": 12}
    assert outcome["estimates"]["fluent.system.mean.a"]["value"] == pytest.approx(4.5)
    assert outcome["estimates"]["fluent.system.difference.a.b"]["value"] == pytest.approx(2.0)


def test_every_criterion_has_its_own_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "long.csv", [*answers(), *answers(criterion="liked", value="2.0")])
    whole = figures(capsys, "compare", path)["estimates"]
    means = [whole[f"{criterion}.system.mean.b"]["value"] for criterion in ("fluent", "liked")]
    assert means == pytest.approx([2.5, 2.0])
    one = figures(capsys, "compare", path, "--criterion", "liked")["estimates"]
    assert not [name for name in one if name.startswith("fluent")]
    assert one == {name: estimate for name, estimate in whole.items() if name.startswith("liked")}
    assert figures(capsys, "compare", path, "--where", "criterion=liked")["estimates"] == one


def test_apostrophes_that_guard_cells_are_no_part_of_a_text(tmp_path: Path) -> None:
    rows = answers(system="'=SUM(A1)", answer_text="'tis")
    frame = open_answers(saved(tmp_path / "long.csv", rows)).read(["system", "answer_text"])
    assert set(frame["system"]) == {"=SUM(A1)"}
    assert set(frame["answer_text"]) == {"'tis"}
    lines = tmp_path / "long.jsonl"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert set(open_answers(str(lines)).read(["system"])["system"]) == {"'=SUM(A1)"}


def test_a_table_of_ones_own_is_no_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "mine.csv", [{"who": "w", "what": "a", "points": "1"}])
    assert isinstance(open_answers(path), TableFile)
    for command in ("compare", "agreement", "detection"):
        assert "is missing; name" in error(capsys, command, path)
    assert isinstance(open_answers(saved(tmp_path / "long.csv", answers())), LongFile)


def test_arms_with_scales_of_their_own_have_the_ends_of_both() -> None:
    assert widest(Criterion("a", "ordinal", 1, 5), Criterion("a", "ordinal", 0, 4)) == Criterion("a", "ordinal", 0, 5)


def test_what_the_api_returned_is_read_as_pages_and_as_records(tmp_path: Path) -> None:
    file = open_answers(api_file(tmp_path / "api.json"))
    assert file.read(["criterion", "value", "worker"]).astype(str).to_numpy().tolist() == [["fluent", "4.0", "w1"]]
    content = json.loads((tmp_path / "api.json").read_text())
    for shape in (content["ratings"], content["ratings"][0], content["ratings"][0]["results"]):
        (tmp_path / "again.json").write_text(json.dumps(shape))
        assert open_answers(str(tmp_path / "again.json")).criteria == [Criterion("fluent", "ordinal", 1.0, 5.0)]


def test_arms_of_the_api_have_their_factors(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    content = json.loads(Path(api_file(path, arm="b")).read_text())
    content["study"] = {
        "arms": [{"name": "a", "factors": {"training": "none"}}, {"name": "b", "factors": {"training": "long"}}]
    }
    path.write_text(json.dumps(content))
    assert list(open_answers(str(path)).read(["arm:training"])["arm:training"]) == ["long"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "this is not JSON"),
        ('{"ratings": {}}', "neither a page of the API nor a list of records"),
        ('{"ratings": [1]}', "neither a page of the API nor a list of records"),
        ('{"ratings": []}', "there are no ratings"),
        ('{"ratings": [{"item": "a"}]}', "rating 1: the field “submission” is missing"),
        ('[{"results": "x"}]', "rating 1"),
    ],
)
def test_json_of_another_shape_is_refused(
    content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "api.json").write_text(content)
    message = error(capsys, "compare", str(tmp_path / "api.json"))
    assert says in message
    assert "save {" in message


def test_a_missing_file_a_folder_and_answers_that_are_all_excluded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no such file" in error(capsys, "compare", str(tmp_path / "none.json"))
    assert "no bundle of a study" in error(capsys, "compare", str(tmp_path))
    assert "no answer is in the figures" in error(
        capsys, "compare", saved(tmp_path / "l.csv", answers(included="false"))
    )
    assert "no answer is in the figures" in error(capsys, "compare", api_file(tmp_path / "a.json", included=False))
    assert "is missing" in error(capsys, "compare", api_file(tmp_path / "a.json", scale_level="-"))


def test_what_a_study_does_not_have_is_said_with_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "long.csv", answers())
    assert 'nothing was asked about "liked"; there are "fluent"' in error(
        capsys, "compare", path, "--criterion", "liked"
    )
    assert "there is no such column; the columns are" in error(capsys, "compare", path, "--factor", "decoder")
    assert "name the question with --criterion" in error(capsys, "detection", path)
    assert '"better"' in error(capsys, "compare", path, "--where", "criterion=better")
    one_level = saved(tmp_path / "one.csv", answers(system="a"))
    assert "there is nothing to compare" in error(capsys, "compare", one_level)
    assert "one level of system only" in error(capsys, "compare", one_level, "--factor", "system")


def test_each_command_names_the_one_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = saved(tmp_path / "pairs.csv", answers(scale_level="pairwise", value="1.0"))
    assert "use python -m analysis preference" in error(capsys, "compare", pairs)
    assert 'column "system_1"' in error(capsys, "preference", pairs)
    own = saved(tmp_path / "own.csv", answers(about="own"))
    assert "what they wrote themselves" in error(capsys, "agreement", own)
    assert "nobody rated a set on a scale" in error(
        capsys, "contest", saved(tmp_path / "t.csv", answers(scale_level="text", value=""))
    )
    assert "export the bundle" in error(capsys, "report", own, "--out", str(tmp_path / "out"))


def test_a_study_of_own_texts_has_workers_as_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    estimates = figures(capsys, "compare", saved(tmp_path / "own.csv", answers(about="own")))["estimates"]
    assert "6 workers" in estimates["fluent.system.mean.a"]["method"]
    assert "items" not in estimates["fluent.system.mean.a"]["method"]


def three_systems() -> list[dict[str, str]]:
    """A third system, c, between the others."""
    third = [
        row | {"item": row["item"].replace("a", "c"), "system": "c", "value": str(float(row["value"]) - 1)}
        for row in answers()
        if row["system"] == "a"
    ]
    return [*answers(), *third]


def api_of(path: Path, rows: Iterable[Mapping[str, str]], study: Mapping[str, Any]) -> str:
    """The same answers as the API returns them."""
    renamed = {"criterion": "question", "part": "target", "answer_text": "text"}
    ratings = [
        {renamed.get(name, name): cell for name, cell in row.items() if name != "system"} | {"included": True}
        for row in rows
    ]
    items = [{"item": row["item"], "columns": {"system": row["system"]}} for row in rows]
    path.write_text(json.dumps({"ratings": ratings, "items": items, "study": study}))
    return str(path)


def test_a_declared_reference_is_used_where_the_file_has_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = {"factors": {"system": {"reference": "b"}}, "arms": []}
    path = api_of(tmp_path / "api.json", three_systems(), study)
    assert main(["compare", path]) == 0
    out = capsys.readouterr().out
    assert "Holm’s correction: all differences from b, 2" in out
    assert "The reference is b, as the study declares; --reference LEVEL names another." in out
    assert main(["compare", path, "--factor", "system", "--reference", "c"]) == 0
    out = capsys.readouterr().out
    assert "all differences from c, 2" in out and "as the study declares" not in out


def test_a_declared_reference_without_answers_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = {"factors": {"system": {"of": "item", "reference": "human"}}, "arms": []}
    assert main(["compare", api_of(tmp_path / "api.json", three_systems(), study)]) == 0
    out = capsys.readouterr().out
    assert "No answer has the declared reference human, so all pairs are compared." in out
    assert "all pairs of levels, 3" in out


def test_a_file_without_the_study_says_that_it_has_no_declared_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "long.csv", three_systems())
    note = "This file does not contain the reference that the study may declare"
    assert main(["compare", path]) == 0
    assert note in capsys.readouterr().out
    assert main(["compare", path, "--factor", "system", "--reference", "b"]) == 0
    assert note not in capsys.readouterr().out


def test_declared_factors_of_arms_are_read_from_the_api(tmp_path: Path) -> None:
    """A declared factor of arms takes the place of what is found among the arms; factors of parts need the bundle."""
    arms = [{"name": "b", "factors": {"training": "none"}}, {"name": "c", "factors": {"training": "examples"}}]
    rows = [row | {"arm": "b" if row["worker"] < "w3" else "c"} for row in three_systems()]
    factors = {"training": {"of": "arm", "reference": "none"}, "order": {"of": "part", "parts": {"1": "x", "2": "y"}}}
    file = open_answers(api_of(tmp_path / "api.json", rows, {"factors": factors, "arms": arms}))
    named = [(factor.name, factor.column, factor.reference) for factor in file.factors]
    assert named == [("training", "arm:training", "none"), ("system", "system", "")]
