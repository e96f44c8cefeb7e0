"""Nothing that a worker's first page needs is left to load while the worker waits."""

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.services import ROOT
from tests.support import clean_environment

PROBE = textwrap.dedent(
    """
    import sys
    import hitserver.wsgi
    from hitserver.preloading import load_for_requests

    load_for_requests()
    before = set(sys.modules)
    from annotation.task_types.registry import all_types
    from django.template import engines
    from django.template.loader import get_template

    types = all_types()
    loader, = engines["django"].engine.template_loaders
    print("TEMPLATES", *loader.get_template_cache)
    get_template("annotation/work.html")
    print("TYPES", len(types))
    print("LATE", *sorted(set(sys.modules) - before))
    """
)


def test_task_types_and_workers_pages_are_loaded_before_the_first_request(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=clean_environment({"HITSERVER_VAR": str(tmp_path), "PYTHONPATH": str(ROOT)}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    lines = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert int(lines["TYPES"]) >= 14
    assert lines["LATE"] == ""
    assert "annotation/start.html" in lines["TEMPLATES"]
    assert "annotation/work.html" in lines["TEMPLATES"]
