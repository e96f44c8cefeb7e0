"""A client that is killed in the middle of a write: whoever sends it again with the same key finds it done once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hitserver_client import Client
from hitserver_client._sync.transport import Transport
from hitserver_client.access import Access
from tests.client.test_live_server import LIKERT, MAKE_TOKEN, TEXTS
from tests.services import ROOT
from tests.support import Server, running_server

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: What is sent to a draft of that name.
WRITES: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "studies/", {**LIKERT, "slug": "made-{study}"}),
    "update": ("PATCH", "studies/{study}/", {"title": "Another title"}),
    "upload": ("POST", "studies/{study}/items/", {"rows": TEXTS}),
    "duplicate": ("POST", "studies/{study}/duplicate/", {"slug": "copy-{study}"}),
    "arm": ("POST", "studies/{study}/arms/", {"name": "long"}),
    "wording": ("PUT", "studies/{study}/wording/", {"instructions": "Read **each** text."}),
    "webhook": (
        "POST",
        "studies/{study}/webhooks/",
        {"address": "https://example.org/{study}", "events": ["study.done"]},
    ),
    "links": ("POST", "studies/{study}/links/", {"names": ["one", "two"]}),
    "team": ("POST", "teams/", {"slug": "team-{study}", "name": "Team of {study}"}),
    "token": ("POST", "tokens/", {"name": "token-{study}", "scopes": ["read"]}),
    "launch": ("POST", "studies/{study}/launch/", {}),
    "delete": ("DELETE", "studies/{study}/", None),
}
SEND = """
import json, sys
from hitserver_client._sync.transport import Transport
from hitserver_client.access import Access
url, token, method, path, body, key = sys.argv[1:]
transport = Transport(Access(url, token))
print("ready", flush=True)
sys.stdin.readline()
transport.send(method, path, body=json.loads(body), key=key)
"""


def entries(server: Server) -> int:
    """How many entries the logs of studies and of the server have."""
    of_studies = server.ask("SELECT count(*) FROM annotation_auditentry")[0][0]
    return int(of_studies) + int(server.ask("SELECT count(*) FROM accounts_logentry")[0][0])


def kill_while_sending(server: Server, token: str, write: tuple[str, str, Any], key: str, after: float) -> None:
    method, path, body = write
    words = [sys.executable, "-c", SEND, server.base_url, token, method, path, json.dumps(body), key]
    process = subprocess.Popen(
        words, cwd=ROOT / "client" / "src", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()
    time.sleep(after)
    process.kill()
    process.wait()


def test_each_write_happens_once_however_the_client_dies(tmp_path: Path) -> None:
    moments = random.Random(4)
    with running_server(tmp_path / "var") as server:
        token = server.manage("shell", "--no-imports", "-c", MAKE_TOKEN).split()[-1]
        transport = Transport(Access(server.base_url, token))
        with Client(server.base_url, token) as hits:
            for name, (method, path, body) in WRITES.items():

                def sent_to(study: str, method: str = method, path: str = path, body: Any = body) -> Any:
                    hits.create_study({**LIKERT, "slug": study}, TEXTS)
                    return method, path.format(study=study), json.loads(json.dumps(body).replace("{study}", study))

                calm = sent_to(f"calm-{name}")
                before = entries(server)
                transport.send(calm[0], calm[1], body=calm[2])
                each = entries(server) - before
                assert each > 0, name
                for trial in range(3):
                    write, key = sent_to(f"killed-{name}-{trial}"), f"key-{name}-{trial}"
                    before = entries(server)
                    kill_while_sending(server, token, write, key, moments.uniform(0.0, 0.06))
                    transport.send(write[0], write[1], body=write[2], key=key)
                    assert entries(server) - before == each, (name, trial)
