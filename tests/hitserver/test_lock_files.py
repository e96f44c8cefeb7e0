"""The lock files that a server in production is installed from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.services import ROOT

LOCKS = {
    "requirements.lock": ("requirements.txt", "requirements-analysis.txt"),
    "requirements-models.lock": ("requirements-models.txt",),
    "requirements-embedded.lock": ("requirements-embedded.txt",),
}
_PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z]+\])?==([^ \\\n]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
#: Has builds with other files under the same version; script/lock says more.
WITHOUT_HASH = {"torch"}


def pins(text: str) -> set[tuple[str, str]]:
    return set(_PIN.findall(text))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_has_what_its_requirements_name_and_a_hash_for_each(lock: str) -> None:
    text = (ROOT / lock).read_text()
    wanted = pins("\n".join((ROOT / name).read_text() for name in LOCKS[lock]))
    assert {pin for pin in wanted if pin[0] not in WITHOUT_HASH} <= pins(text), "Run script/lock."
    entries = re.split(r"\n(?=[a-z0-9])", text.partition("\n")[2])
    assert len(entries) == len(_PIN.findall(text))
    assert all(_HASH.search(entry) for entry in entries)


def test_both_sets_of_packages_can_be_installed_together() -> None:
    web, models = (dict(pins((ROOT / name).read_text())) for name in ("requirements.lock", "requirements-models.lock"))
    assert all(models[name] == web[name] for name in web.keys() & models.keys())
    assert "torch" not in models
    assert not any(name.startswith(("nvidia-", "cuda-")) for name in models)


def checkout(tmp_path: Path) -> Path:
    """A copy of what setting up needs."""
    for path in [*ROOT.glob("requirements*"), *ROOT.glob("script/*")]:
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


def test_in_production_the_server_installs_nothing_when_it_starts(tmp_path: Path) -> None:
    environment = {**os.environ, "HITSERVER_ENV": "production"}
    command = [str(checkout(tmp_path) / "script" / "server")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "The packages in requirements.txt are not installed" in done.stderr
    assert not (tmp_path / ".venv").exists()
