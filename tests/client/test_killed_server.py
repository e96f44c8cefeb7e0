"""A server that is killed in the middle of a write: the client sends it again, and it has happened once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hitserver_client import Client, Study
from tests.client.test_live_server import LIKERT, MAKE_TOKEN, TEXTS
from tests.support import Server, start_server

pytestmark = [pytest.mark.slow, pytest.mark.long]

WRITES: dict[str, Callable[[Client, Study], object]] = {
    "create": lambda hits, study: hits.create_study({**LIKERT, "slug": f"new-{study.slug}"}, TEXTS),
    "update": lambda _, study: study.update(title="Another title"),
    "upload": lambda _, study: study.upload(TEXTS),
    "duplicate": lambda _, study: study.duplicate(f"copy-{study.slug}"),
    "arm": lambda _, study: study.arms.create("long"),
    "wording": lambda _, study: study.set_wording({"instructions": "Read **each** text."}),
    "webhook": lambda _, study: study.webhooks.create(f"https://example.org/{study.slug}", ["study.done"]),
    "links": lambda _, study: study.links.create(["one", "two"]),
    "team": lambda hits, study: hits.teams.create(f"team-{study.slug}", f"Team of {study.slug}"),
    "launch": lambda _, study: study.launch(),
    "delete": lambda _, study: study.delete(),
}


@dataclass
class Mortal:
    """A server that is killed and started again at the same port, with the same data."""

    var: Path
    server: Server

    @property
    def port(self) -> int:
        return int(self.server.base_url.rpartition(":")[2])

    def die_and_return(self, after: float) -> None:
        time.sleep(after)
        self.server.kill_all()
        self.server = start_server(self.var, port=self.port)

    def entries(self) -> int:
        """How many entries the logs of studies and of the server have."""
        of_studies = self.server.ask("SELECT count(*) FROM annotation_auditentry")[0][0]
        return int(of_studies) + int(self.server.ask("SELECT count(*) FROM accounts_logentry")[0][0])


@pytest.mark.parametrize("seed", [1, 2])
def test_each_write_happens_once_however_the_server_dies(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hitserver_client.retrying.TRIES", 20)
    monkeypatch.setattr("hitserver_client._sync.transport.TRIES", 20)
    mortal = Mortal(tmp_path / "var", start_server(tmp_path / "var"))
    moments = random.Random(seed)
    try:
        token = mortal.server.manage("shell", "--no-imports", "-c", MAKE_TOKEN).split()[-1]
        with Client(mortal.server.base_url, token) as hits:
            for name, write in WRITES.items():
                undisturbed = hits.create_study({**LIKERT, "slug": f"calm-{name}"}, TEXTS)
                disturbed = hits.create_study({**LIKERT, "slug": f"killed-{name}"}, TEXTS)
                before = mortal.entries()
                write(hits, undisturbed)
                between = mortal.entries()
                killer = threading.Thread(target=mortal.die_and_return, args=(moments.uniform(0.0, 0.1),))
                killer.start()
                write(hits, disturbed)
                killer.join()
                assert mortal.entries() - between == between - before > 0, name
    finally:
        mortal.server.kill_all()
