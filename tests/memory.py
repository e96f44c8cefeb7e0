"""Code that runs in a separate process with little memory, to see how much an attack would use."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from tests.services import ROOT
from tests.support import clean_environment

_LIMIT = """
import resource
def limit(megabytes):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    most = used + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


def run_limited(
    code: str, *, megabytes: int, imports: str = "", var: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """What the code prints when it can use this many megabytes more than its process uses after ``imports``.

    Code that takes more ends with a MemoryError, and the test with what the process said.
    """
    parts = [_LIMIT, imports, f"limit({megabytes})", code]
    settings = {"HITSERVER_VAR": str(var), **(env or {})} if var else dict(env or {})
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(map(textwrap.dedent, parts))],
        cwd=ROOT,
        env=clean_environment(settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise AssertionError(f"The code ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout
