"""The audit of the lock files, against a service that answers as OSV's API (https://google.github.io/osv.dev/api/)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.audit import FAULT, LOCKS, NONE_KNOWN, NOT_CHECKED, SOME_KNOWN, main
from tests.services import ROOT

pytestmark = pytest.mark.slow
HASH = "--hash=sha256:" + "0" * 64
SMALL_LOCK = f"# a lock file\nsegno==1.6.6 \\\n    {HASH}\nurllib3==1.24.1 \\\n    {HASH}\n"
#: As OSV describes a vulnerability (schema 1.6.0).
KNOWN = {
    "id": "PYSEC-2019-133",
    "aliases": ["CVE-2019-11324"],
    "summary": "The urllib3 library mishandles certain cases.",
    "schema_version": "1.6.0",
    "affected": [
        {
            "package": {"name": "urllib3", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.24.2"}]}],
        }
    ],
}


class Service:
    """What it answers about a package; ``status`` for an outage. ``asked`` lists the questions."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.status = 200
        self.asked: list[str] = []
        self.url = ""


@pytest.fixture
def service() -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append(f"{query['package']['name']} {query['version']}")
            body = json.dumps(state.answers.get(query["package"]["name"], {})).encode()
            self.send_response(state.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not into the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1/query"
    yield state
    server.shutdown()
    server.server_close()


def audit(tmp_path: Path, service: Service, *arguments: str, text: str = SMALL_LOCK) -> int:
    lock = tmp_path / "small.lock"
    lock.write_text(text)
    return main([str(lock), "--osv-url", service.url, *arguments])


def test_nothing_known(tmp_path: Path, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(tmp_path, service) == NONE_KNOWN
    assert "no known vulnerabilities in 2 packages" in capsys.readouterr().out
    assert sorted(service.asked) == ["segno 1.6.6", "urllib3 1.24.1"]


def test_something_known_names_the_fix_and_can_be_ignored(
    tmp_path: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.answers["urllib3"] = {"vulns": [KNOWN]}
    assert audit(tmp_path, service) == SOME_KNOWN
    text = capsys.readouterr().out
    assert "urllib3 1.24.1: PYSEC-2019-133, CVE-2019-11324, fixed in 1.24.2" in text and "no known" not in text
    assert audit(tmp_path, service, "--ignore", "PYSEC-2019-133") == NONE_KNOWN


@pytest.mark.parametrize("status", [500, 404, 403])
def test_an_outage_is_not_a_clean_result(
    status: int, tmp_path: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.status = status
    assert audit(tmp_path, service) == NOT_CHECKED
    text = capsys.readouterr().out
    assert "NOT CHECKED" in text and "no known" not in text


def test_without_a_network_nothing_is_reported_clean(
    tmp_path: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.url = "http://127.0.0.1:9/v1/query"
    assert audit(tmp_path, service) == NOT_CHECKED
    text = capsys.readouterr().out
    assert "NOT CHECKED" in text and "no known" not in text


def test_a_package_that_the_service_does_not_know_is_not_clean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So answers pip-audit, with status 0, when a mirror lacks PyPI's JSON API."""
    answer = {"dependencies": [{"name": "segno", "skip_reason": "Dependency not found on PyPI"}], "fixes": []}

    def run(command: list[str], **_: object) -> None:
        Path(command[command.index("--output") + 1]).write_text(json.dumps(answer))

    monkeypatch.setattr("tests.audit.subprocess.run", run)
    assert main(["requirements.lock"]) == NOT_CHECKED
    assert "segno: Dependency not found" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["segno\n", "segno==1.6.6\n", "=== nonsense\n"])
def test_a_file_that_is_no_lock_file_is_a_fault(
    text: str, tmp_path: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(tmp_path, service, text=text) == FAULT
    assert "could not be read" in capsys.readouterr().out


def test_all_lock_files_are_audited() -> None:
    assert sorted(LOCKS) == sorted(path.name for path in ROOT.glob("*.lock"))
