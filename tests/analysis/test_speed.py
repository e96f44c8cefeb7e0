"""Commands load only what they need, and hundreds of thousands of ratings take seconds. Times are processor time."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from analysis.__main__ import COMMANDS, main
from analysis.agreement.jackknife import distinct, distinct_rows
from analysis.data import read_bundle
from analysis.inference import LevelDesign
from analysis.report import report_numbers
from analysis.report.files import json_pieces, json_text
from bench.million import Study, command_lines, measure, write_ratings, write_study
from tests.services import ROOT

#: Libraries that take long to import.
HEAVY = ("numpy", "pandas", "scipy", "statsmodels", "matplotlib")


def loaded_by(*words: str) -> set[str]:
    """The modules that a command loads."""
    code = "import atexit, sys; atexit.register(lambda: print('LOADED', *sys.modules)); sys.argv[0] = 'analysis'\n"
    code += "from analysis.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED ")[2].split())


def test_the_list_of_commands_needs_no_library() -> None:
    assert not loaded_by("--help") & {*HEAVY, *(f"analysis.commands.{module}" for _, module, _ in COMMANDS)}


@pytest.mark.parametrize("command", ["preference", "agreement"])
def test_a_command_loads_neither_the_others_nor_libraries_that_it_does_not_use(command: str) -> None:
    loaded = loaded_by(command, "--help")

    others = {f"analysis.commands.{module}" for _, module, _ in COMMANDS} - {f"analysis.commands.{command}"}
    assert f"analysis.commands.{command}" in loaded
    assert not loaded & {*others, "statsmodels", "matplotlib", "jinja2"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 5,000 ratings on five criteria, by three factors, as a bundle."""
    file = tmp_path_factory.mktemp("ratings") / "bundle.zip"
    write_study(file, Study(100))
    return file


def test_a_report_loads_neither_what_draws_its_figures_nor_tests_that_it_does_not_need(
    small: Path, tmp_path: Path
) -> None:
    loaded = loaded_by("report", str(small), "--out", str(tmp_path), "--draws", "40")

    assert "analysis.report.sections.findings" in loaded
    assert not loaded & {"matplotlib", "PIL", "scipy.stats", "statsmodels"}


def test_what_workers_rated_is_worked_out_once_for_all_criteria(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    new = LevelDesign.of

    def counted(levels: Any, level_count: int, *others: Any) -> LevelDesign:
        made.append(level_count)
        return new(levels, level_count, *others)

    monkeypatch.setattr(LevelDesign, "of", counted)

    numbers = report_numbers(read_bundle(small), draws=40)

    assert len(numbers["sections"]["findings"]["sentences"]) >= 5 * 3
    # Three factors; three pairs of factors, each with combinations, rows, columns and everything.
    assert len(made) <= 3 + 3 * 4


def test_a_report_is_the_same_with_and_without_pyarrow(small: Path, tmp_path: Path) -> None:
    code = "import sys; from analysis.__main__ import main; sys.exit(main(sys.argv[1:]))"
    for name, start in (("with", ""), ("without", "import sys; sys.modules['pyarrow'] = None; ")):
        words = ["report", str(small), "--out", str(tmp_path / name), "--draws", "40"]
        subprocess.run([sys.executable, "-c", start + code, *words], cwd=ROOT, capture_output=True, check=True)

    reports = [json.loads((tmp_path / name / "report.json").read_text()) for name in ("with", "without")]
    assert reports[0] | {"made_at": ""} == reports[1] | {"made_at": ""}


def test_every_command_is_listed_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])

    listed = " ".join(capsys.readouterr().out.split())
    for name, module, line in COMMANDS:
        assert f"{name} {line}" in listed
        assert hasattr(import_module(f"analysis.commands.{module}"), "add_parser")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 200,000 ratings, as a table and as a bundle."""
    folder = tmp_path_factory.mktemp("ratings")
    study = Study(4_000)
    write_ratings(folder / "ratings.csv", study)
    write_study(folder / "bundle.zip", study)
    return folder


READ_TABLE = (
    "import sys; from analysis.tables import read_columns as read; read(sys.argv[1], ['item', 'worker', 'value'])"
)
READ_BUNDLE = "import sys; from analysis.data import read_bundle as read; read(sys.argv[1])"


# On an idle machine: 0.8, 1.8 and 1.3 s. Loops over rows, as there were before, took 1 to 2 s more each.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "most_seconds", "most_megabytes"), [("table", 4, 250), ("agreement", 10, 350), ("bundle", 6, 400)]
)
def test_many_ratings_take_seconds(
    folder: Path, what: str, most_seconds: float, most_megabytes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More threads would spend processor time on waiting for each other.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    words = {
        "table": ["-c", READ_TABLE, str(folder / "ratings.csv")],
        "agreement": command_lines(folder)["agreement"],
        "bundle": ["-c", READ_BUNDLE, str(folder / "bundle.zip")],
    }

    seconds, megabytes = measure(words[what])

    assert seconds < most_seconds
    assert megabytes < most_megabytes


def test_json_is_written_as_the_standard_library_writes_it() -> None:
    value = {
        "a": [1, 2.5, 1e-07, 1e22, -0.0, True, None, '“é”\n\t"\\'],
        "b": {},
        "c": [],
        "é": {"d": [{"e": {"f": [[]]}}]},
    }

    assert json_text(value) == json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    assert "".join(json_pieces(value)) == json_text(value)
    assert "".join(json_pieces({})) == "{}"
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"a": [float("nan")]})


@pytest.mark.parametrize("codes", [[3, 1, 3, 0], [], [7], [0, 10**9, 5, 10**9], [-1, 4, -1]])
def test_codes_are_counted_as_numpy_does(codes: list[int]) -> None:
    array = np.array(codes, dtype=np.int64)

    for ours, numpys in zip(distinct(array), np.unique(array, return_inverse=True, return_counts=True), strict=True):
        assert ours.tolist() == numpys.tolist()


@pytest.mark.parametrize("largest", [3, 10**9])
def test_distinct_rows_are_those_of_numpy(largest: int) -> None:
    dense = np.random.default_rng(1).integers(0, 3, (200, 5)) * (largest // 2)

    rows, times, row_of_unit = distinct_rows(sparse.csr_array(dense.astype(float)))

    expected = np.unique(dense, axis=0, return_inverse=True, return_counts=True)
    assert rows.toarray().tolist() == expected[0].tolist()
    assert row_of_unit.tolist() == expected[1].ravel().tolist()
    assert times.tolist() == expected[2].tolist()
