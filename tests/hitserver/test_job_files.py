"""The job files for Slurm and Kubernetes: what they start, and that a signal reaches the worker."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.services import ROOT, wait_for

SBATCH = ROOT / "deploy" / "slurm" / "workers.sbatch"
KUBERNETES = ROOT / "deploy" / "kubernetes"
WORKER = """#!/bin/bash
echo "$@ $HITSERVER_PARTS" > "$FOLDER/started"
trap 'echo TERM > "$FOLDER/ended"; exit {code}' TERM
for _ in $(seq 600); do sleep 0.05 & wait $!; done
"""


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    """The environment of a task of an array, with a Python and a scontrol that write down what they were asked."""
    (tmp_path / "settings").write_text("HITSERVER_PARTS=studies\nDATABASE_URL='postgres://h/x?a=1&b=2'\n")
    script(tmp_path / "python", WORKER.format(code=os.EX_TEMPFAIL))
    script(tmp_path / "bin" / "scontrol", '#!/bin/bash\necho "$@" > "$FOLDER/scontrol"\n')
    return {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "FOLDER": str(tmp_path),
        "JOB_SETTINGS": str(tmp_path / "settings"),
        "JOB_FOLDER": str(tmp_path),
        "JOB_PYTHON": str(tmp_path / "python"),
        "SLURM_JOB_ID": "77",
        "SLURM_ARRAY_JOB_ID": "70",
        "SLURM_ARRAY_TASK_ID": "3",
    }


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def start(job: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    command = ["bash", str(SBATCH), *arguments]
    return subprocess.Popen(command, env=job, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_signal_to_the_job_ends_the_worker_and_requeues_the_task(
    job: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    process = start(job, "big-run")
    wait_for((tmp_path / "started").exists, "the worker")
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    assert (tmp_path / "started").read_text().split() == [
        *("manage.py", "generate", "work", "big-run", "--until-empty", "studies"),
    ]
    assert (tmp_path / "ended").read_text() == "TERM\n"
    assert (tmp_path / "scontrol").read_text() == "requeue 70_3\n"


@pytest.mark.parametrize("code", [0, 1])
def test_a_worker_that_ends_by_itself_is_not_requeued(job: dict[str, str], tmp_path: Path, code: int) -> None:
    script(tmp_path / "python", f"#!/bin/bash\nexit {code}\n")
    assert start(job).wait(timeout=60) == code
    assert not (tmp_path / "scontrol").exists()


@pytest.mark.parametrize("name", ["JOB_SETTINGS", "JOB_PYTHON"])
def test_what_is_missing_is_named(job: dict[str, str], name: str) -> None:
    process = start(job | {name: "/nowhere"})
    _, shown = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "/nowhere" in shown
    assert name in shown


def test_the_script_passes_shellcheck() -> None:
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("no shellcheck is installed")
    done = subprocess.run([shellcheck, str(SBATCH)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout


def test_the_settings_that_the_examples_name_are_documented() -> None:
    documented = (ROOT / "docs" / "settings.md").read_text("utf-8")
    lines = (ROOT / "deploy" / "slurm" / "hitserver.env.example").read_text("utf-8").splitlines()
    names = {line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")}
    names |= set(read("secret.example.yaml")["stringData"])
    ours = {name for name in names if not name.startswith("HF_")}
    assert "DATABASE_URL" in ours
    assert not {name for name in ours if f"`{name}`" not in documented}


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((KUBERNETES / name).read_text("utf-8"))
    return document


def test_the_kubernetes_job() -> None:
    """What its schema cannot say; the schema itself: kubernetes-validate --strict deploy/kubernetes/*.yaml."""
    job, secret = read("workers.yaml")["spec"], read("secret.example.yaml")
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["python", "manage.py", "generate", "work", "RUN", "--until-empty"]
    assert container["envFrom"] == [{"secretRef": {"name": secret["metadata"]["name"]}}]
    ignored = [rule["onExitCodes"] for rule in job["podFailurePolicy"]["rules"] if "onExitCodes" in rule]
    assert ignored == [{"containerName": container["name"], "operator": "In", "values": [os.EX_TEMPFAIL]}]
    assert pod["restartPolicy"] == "Never"  # a failure policy needs it
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert {"/tmp", "/dev/shm", "/var/hitserver"} == writable  # noqa: S108 - paths in a container
