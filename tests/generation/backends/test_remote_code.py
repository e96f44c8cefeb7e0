"""A model's folder or repository may hold Python code. No call that loads one lets it run."""

import ast

from tests.services import ROOT

#: The parts of transformers that read a model's files.
LOADERS = ("from_pretrained", "from_config", "pipeline")


def test_every_call_that_loads_a_model_refuses_its_code() -> None:
    n_calls = 0
    for path in sorted((ROOT / "generation").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", ""))
            if isinstance(node, ast.Call) and name in LOADERS:
                n_calls += 1
                refused = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
                assert refused.get("trust_remote_code") is False, f"{path}:{node.lineno}"
    assert n_calls >= 3
