"""Rules about the code that no linter has: modules do not import in circles, files stay readable."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.services import ROOT

APPS = ("common", "accounts", "analysis", "generation", "annotation", "marketplace", "hitserver", "deploy")
LONGEST_FILE, LONGEST_FUNCTION = 450, 55


def sources() -> list[Path]:
    return [path for app in APPS for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]


@pytest.mark.parametrize("app", APPS)
def test_modules_of_an_app_import_in_no_circle(app: str) -> None:
    """Imports inside functions count, too: they only hide a circle."""
    graph = grimp.build_graph(app, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_files_are_not_too_long() -> None:
    long = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources()}

    assert {name: lines for name, lines in long.items() if lines > LONGEST_FILE} == {}


def test_functions_are_not_too_long() -> None:
    found = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    found[f"{path.relative_to(ROOT)}:{node.name}"] = lines

    assert found == {}
