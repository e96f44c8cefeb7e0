"""``python -m analysis report`` on good and bad bundles, and what the analysis loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.data import write_bundle, write_bundle_folder
from analysis.report import report_numbers
from tests.analysis.conftest import ROOT
from tests.analysis.support.studies import Values, a_set, study_data

VALUES: Values = {(f"i{at}", worker): 1 + (at + len(worker)) % 5 for at in range(6) for worker in ("x", "yy", "zzz")}
ITEMS = [a_set(f"i{at}", label=at % 2) for at in range(6)]
WITHOUT_DJANGO = """
import sys
for name in ("django", "annotation", "generation", "hitserver", "marketplace"):
    sys.modules[name] = None
"""


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def a_bundle(path: Path) -> Path:
    with path.open("wb") as file:
        write_bundle(study_data(ITEMS, VALUES), file)
    return path


def test_the_numbers_are_the_console_s(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = a_bundle(tmp_path / "pilot.zip")

    status = main(["report", str(bundle), "--out", str(tmp_path / "new" / "out"), "--draws", "40", "--seed", "5"])

    assert (status, capsys.readouterr().err) == (0, "")
    found = json.loads((tmp_path / "new" / "out" / "report.json").read_text())
    wanted = json.loads(json.dumps(report_numbers(study_data(ITEMS, VALUES), draws=40, seed=5)))
    assert found | {"made_at": ""} == wanted | {"made_at": ""}
    assert "A pilot" in (tmp_path / "new" / "out" / "report.html").read_text()


def test_figures_are_saved_as_png_files_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, out = str(a_bundle(tmp_path / "pilot.zip")), tmp_path / "out"

    assert main(["report", bundle, "--out", str(out), "--draws", "40", "--png"]) == 0

    assert (out / "figures" / "q-bars.png").read_bytes().startswith(b"\x89PNG")
    assert 'href="figures/q-bars.png"' in (out / "report.html").read_text()
    assert main(["report", bundle, "--paper", str(tmp_path / "paper"), "--png"]) == 2
    assert "--png: the figures belong to a report" in capsys.readouterr().err


def test_a_report_is_made_without_the_library_that_draws_its_figures(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\nfrom analysis.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    )

    done = python(
        code, "report", str(a_bundle(tmp_path / "pilot.zip")), "--out", str(tmp_path / "out"), "--draws", "40"
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_it_needs_no_django(tmp_path: Path) -> None:
    bundle = a_bundle(tmp_path / "pilot.zip")
    code = WITHOUT_DJANGO + "from analysis.__main__ import main\nsys.exit(main(sys.argv[1:]))"

    done = python(code, "report", str(bundle), "--out", str(tmp_path / "out"), "--draws", "40")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "out" / "report.json").read_text())["draws"] == 40


def test_every_module_loads_without_django() -> None:
    code = WITHOUT_DJANGO + (
        "import importlib, pkgutil, analysis\n"
        "names = [each.name for each in pkgutil.walk_packages(analysis.__path__, 'analysis.')]\n"
        "names = [name for name in names if not name.endswith('__main__')]\n"
        "[importlib.import_module(name) for name in names]\n"
        "assert 'torch' not in sys.modules\n"
        "print(len(names))"
    )

    done = python(code)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


@pytest.mark.parametrize("module", ["analysis.report", "analysis.description", "analysis.description_json"])
def test_web_processes_load_only_light_modules(module: str) -> None:
    heavy = "('pandas', 'scipy', 'numpy', 'statsmodels', 'jinja2', 'django')"
    done = python(f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])")

    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.zip", "there is no such file or folder"),
        ("text.zip", "nor a valid zip archive"),
        (".", "study.json is"),
    ],
)
def test_a_bad_bundle_gives_one_line_and_status_2(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.zip").write_text("hello")

    status = main(["report", str(tmp_path / name), "--out", str(tmp_path / "out")])

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and message in err and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_edited_rows_are_refused_unless_accepted_explicitly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle_folder(study_data(ITEMS, VALUES), tmp_path / "pilot")
    with (tmp_path / "pilot" / "flags.csv").open("a") as file:
        file.write("1,copied,by hand,,\r\n")
    command = ["report", str(tmp_path / "pilot"), "--out", str(tmp_path / "out"), "--draws", "40"]

    assert main(command) == 2
    assert "flags.csv was changed" in capsys.readouterr().err
    assert main([*command, "--accept-edited"]) == 0
    assert "copied" in (tmp_path / "out" / "report.html").read_text()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file")

    assert main(["report", str(a_bundle(tmp_path / "b.zip")), "--out", str(tmp_path / "out"), "--draws", "40"]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--draws", "0"], ["--draws", "1"], ["--draws", "x"], ["--seed", "-1"]])
def test_wrong_options_give_exit_status_2(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["report", "b.zip", "--out", "out", *option])
    assert stopped.value.code == 2
    assert option[0] in capsys.readouterr().err
