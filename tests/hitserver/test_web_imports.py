"""A web process loads no model library, which its machine may lack, nor what only reports and exports compute with."""

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.services import ROOT
from tests.support import clean_environment

# Loads what a web process loads, every view included, and refuses the names of model libraries, installed or not.
PROBE = textwrap.dedent(
    """
    import importlib, sys

    FORBIDDEN = {"torch", "transformers", "tokenizers", "safetensors", "accelerate", "pandas", "scipy", "statsmodels"}
    FORBIDDEN |= {"openpyxl", "pyarrow"}

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in FORBIDDEN:
                print("ASKED FOR", name)
                raise ImportError(f"{name} in a web process")

    sys.meta_path.insert(0, Refuse())
    import hitserver.wsgi
    from django.core.management import get_commands, load_command_class
    from django.urls import URLPattern, get_resolver
    from hitserver.preloading import load_for_requests

    def views(patterns):
        for entry in patterns:
            if isinstance(entry, URLPattern):
                yield entry.callback
            else:
                yield from views(entry.url_patterns)

    print("VIEWS", len(list(views(get_resolver().url_patterns))))
    load_for_requests()
    for name in sys.argv[1:]:
        importlib.import_module(name)
    """
)


def probe(var: Path, *modules: str, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = clean_environment({"HITSERVER_VAR": str(var), "PYTHONPATH": str(path)})
    return subprocess.run(
        [sys.executable, "-c", PROBE, *modules], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_a_web_process_imports_torch_and_pandas_only_when_needed(tmp_path: Path) -> None:
    done = probe(tmp_path)

    assert done.returncode == 0, done.stderr
    assert "ASKED FOR" not in done.stdout
    assert int(done.stdout.split("VIEWS ")[1].split()[0]) > 0


def test_the_probe_detects_a_module_that_imports_torch(tmp_path: Path) -> None:
    (tmp_path / "careless.py").write_text("try:\n    import torch.nn\nexcept ImportError:\n    pass\n")

    done = probe(tmp_path, "careless", path=tmp_path)

    assert "ASKED FOR torch" in done.stdout
