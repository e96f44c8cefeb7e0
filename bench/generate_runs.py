"""A generation run end to end for ``bench.generate``, with a separate database, folder broker and worker process."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


def timed_run(
    *,
    source: str,
    dtype: str,
    device: str,
    body: Mapping[str, Any],
    contexts: Sequence[Mapping[str, str]],
    samples: int,
) -> tuple[float, int]:
    """Seconds from ``generate apply`` to the last sample, and the tokens stored. A small run loads the model first."""
    with TemporaryDirectory(prefix="bench-generate-") as folder:
        var = Path(folder)
        environment = os.environ | {"HITSERVER_VAR": str(var), "HITSERVER_PARTS": "studies"}
        environment.pop("DATABASE_URL", None)
        environment.pop("CELERY_BROKER_URL", None)
        _manage(environment, "migrate", "-v", "0")
        _manage(
            environment, "generate", "register", "bench", "--backend", "transformers", "--source", source,
            "--dtype", dtype, "--device", device,
        )  # fmt: skip
        files = []
        for name, its_contexts, count in (("warm-up", contexts[:1], 1), ("timed", contexts, samples)):
            files.append(var / f"{name}.run.yaml")
            written = {**body, "name": name, "contexts": list(its_contexts), "samples": count}
            files[-1].write_text(yaml.safe_dump(written))
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "--app", "hitserver", "--quiet", "worker", "--queues", "gpu",
             "--pool", "solo", "--without-heartbeat", "--without-gossip", "--without-mingle"],
            cwd=ROOT, env=environment,
        )  # fmt: skip
        try:
            _manage(environment, "generate", "apply", str(files[0]), "--wait")
            _manage(environment, "generate", "apply", str(files[1]), "--wait")
        finally:
            worker.terminate()
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()
        return _seconds_and_tokens(var / "db.sqlite3", "timed")


def _manage(environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=dict(environment), check=True, stdout=subprocess.DEVNULL, timeout=1800,
    )  # fmt: skip


def _seconds_and_tokens(database: Path, run: str) -> tuple[float, int]:
    query = """
        SELECT (julianday(max(chunk.ended_at)) - julianday(run.created_at)) * 86400, sum(chunk.n_tokens)
        FROM generation_chunk chunk JOIN generation_generationrun run ON run.id = chunk.run_id WHERE run.name = ?
    """
    with closing(sqlite3.connect(database)) as connection:
        seconds, tokens = connection.execute(query, [run]).fetchone()
    return float(seconds), int(tokens)
