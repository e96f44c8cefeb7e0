"""The marketplace without the studies, as ``script/marketplace`` starts it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from threading import Barrier
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.marketplace.support.clients import Key, boto3_client
from tests.marketplace.support.doc_blocks import Block, blocks
from tests.marketplace.support.world import TYPE, WORK
from tests.services import ROOT, free_port
from tests.support import Server, clean_environment

ALONE = {"HITSERVER_PARTS": "marketplace", "HITSERVER_WEB_WORKERS": "1"}
Start = Callable[..., Server]
BOTH = pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
PAGE = ROOT / "docs" / "marketplace.md"


@pytest.fixture
def on(database: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings for this database, which nobody has used yet."""
    return {"DATABASE_URL": request.getfixturevalue("postgres_url")} if database == "postgres" else {}


def last_words(server: Server) -> str:
    """What it printed when it was last ready."""
    return server.said().rpartition("HITServer is ready at ")[2]


def test_the_first_page_and_the_terminal_say_where_to_go(live_processes: Start, tmp_path: Path) -> None:
    server = live_processes(tmp_path / "var", env=ALONE)
    with urllib.request.urlopen(server.base_url + "/", timeout=30) as page:
        assert page.url == f"{server.base_url}/marketplace/sign-in/?next=/marketplace/"
    said = last_words(server)
    for path in ("/marketplace/", "/marketplace/operate/", "/marketplace/api/"):
        assert f"  {server.base_url}{path}" in said.replace(": ", ":  ")
    assert f"{ROOT}/.venv/bin/python {ROOT}/manage.py marketplace make-operator" in said
    assert "Task marketplace" not in server.said()  # tasks that succeed are not logged
    assert "Password of the new user" in server.manage("marketplace", "make-operator", "olga")
    assert server.stop() == 0

    again = live_processes(tmp_path / "var", env=ALONE)
    assert "/marketplace/operate/" in last_words(again)
    assert "no operator yet" not in last_words(again)
    assert "Password" not in again.manage("marketplace", "make-operator", "olga")  # she is there already


def test_a_port_in_use_is_named(live_processes: Start, tmp_path: Path) -> None:
    server = live_processes(tmp_path / "one", env=ALONE)
    port = server.base_url.rpartition(":")[2]
    environment = clean_environment(ALONE | {"HITSERVER_VAR": str(tmp_path / "two")})
    command = [sys.executable, "-m", "hitserver.supervisor", "--port", port]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1 port {port}: Address already in use. Choose another with --port" in done.stderr


def test_the_scheduler_runs_only_marketplace_tasks(tmp_path: Path) -> None:
    show = "import json; from hitserver import settings; print(json.dumps(list(settings.CELERY_BEAT_SCHEDULE)))"
    environment = clean_environment(ALONE | {"HITSERVER_VAR": str(tmp_path), "HITSERVER_PORT": str(free_port())})
    done = subprocess.run([sys.executable, "-c", show], env=environment, cwd=ROOT, capture_output=True, check=True)
    assert "marketplace.tasks.upkeep" in json.loads(done.stdout)
    assert "annotation.tasks.reclaim_expired" not in json.loads(done.stdout)


@BOTH
def test_twenty_clients_with_one_token_make_one_hit(live_processes: Start, tmp_path: Path, on: dict[str, str]) -> None:
    """Over HTTP, with the processes of a real server, as when a client's requests time out and are sent again."""
    two = {"HITSERVER_WEB_WORKERS": "2", "HITSERVER_WEB_THREADS": "4", "HITSERVER_MARKETPLACE_RATE_LIMIT": "0"}
    server = live_processes(tmp_path / "var", env=ALONE | two | on)
    server.manage("marketplace", "make-requester", "Lab", "--balance", "50")
    printed = dict(line.split("=", 1) for line in server.manage("marketplace", "make-key", "Lab").splitlines())
    mturk = boto3_client(server.base_url, Key(printed["AWS_ACCESS_KEY_ID"], printed["AWS_SECRET_ACCESS_KEY"]))
    begin = Barrier(20)

    def create(number: int) -> tuple[str, str]:
        begin.wait(timeout=30)
        try:
            return "made", mturk.create_hit(**TYPE, **WORK, UniqueRequestToken="once")["HIT"]["HITId"]
        except mturk.exceptions.RequestError as error:
            found = re.search(r'(3[0-9A-Z]{29})"? already exists', str(error))
            return error.response["TurkErrorCode"], found[1] if found else str(error)

    with ThreadPoolExecutor(20) as pool:
        outcomes = Counter(pool.map(create, range(20)))
    (listed,) = mturk.list_hits()["HITs"]
    assert outcomes == {
        ("made", listed["HITId"]): 1,
        ("AWS.MechanicalTurk.HitAlreadyExists", listed["HITId"]): 19,
    }
    assert mturk.get_account_balance()["AvailableBalance"] == "48.80"  # two places for 0.50, and 20 percent


# --- The first steps, as docs/marketplace.md has them -------------------------------------------------------


def first_steps() -> list[Block]:
    """The blocks of that section: commands, a program that posts a task, a program that approves."""
    lines = PAGE.read_text().splitlines()
    begin = lines.index("## From nothing to the first paid task")
    end = next(number for number, line in enumerate(lines) if number > begin and line.startswith("## "))
    return [block for block in blocks(PAGE) if begin < block.line < end]


def typed(program: str, server: Server, **variables: str) -> str:
    """What a shell prints that runs this in the folder of the project."""
    environment = server.environment | variables | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-euc", program], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Visitor:
    """A worker's browser, as far as these steps need one."""

    def __init__(self, base_url: str) -> None:
        self.base_url, self.jar = base_url, CookieJar()
        self.opener = build_opener(HTTPCookieProcessor(self.jar))

    def get(self, address: str) -> str:
        with self.opener.open(urljoin(self.base_url, address), timeout=30) as response:
            return str(response.read().decode())

    def post(self, address: str, **fields: str) -> str:
        """The address at which it ends."""
        fields["csrfmiddlewaretoken"] = next(cookie.value or "" for cookie in self.jar if cookie.name == "csrftoken")
        with self.opener.open(urljoin(self.base_url, address), urlencode(fields).encode(), timeout=30) as response:
            return str(response.url)


def test_the_first_steps_lead_to_a_paid_task(live_processes: Start, tmp_path: Path) -> None:
    server = live_processes(tmp_path / "var", env=ALONE)
    commands, post, approve = first_steps()
    said = typed(f"{commands.text}\nenv | grep ^AWS_", server)
    keys = dict(re.findall(r"^(AWS_\w+)=(.*)$", said, re.MULTILINE))
    assert keys["AWS_ENDPOINT_URL_MTURK"] == f"{server.base_url}/marketplace/api/"
    assert said.count("Password of the new user") == 2
    _, state = typed(f"python - <<'END'\n{post.text}END", server, **keys).split()
    assert state == "Assignable"

    worker = Visitor(server.base_url)
    invitation = re.search(r"http\S+/join/\S+", said)
    assert invitation
    worker.get(invitation[0])
    worker.post(invitation[0], username="robin", password="a-long-enough-password", email="", country="")
    group = re.search(r"/marketplace/groups/3[0-9A-Z]+/", worker.get("/marketplace/"))
    assert group
    task = worker.post(f"{group[0]}accept")
    frame = re.search(r'<iframe[^>]* src="([^"]+)"', worker.get(task))
    assert frame
    shown = worker.get(unescape(frame[1]))
    assert f'action="{server.base_url}/mturk/externalSubmit"' in shown  # not Amazon's any more
    worker.post("/mturk/externalSubmit", assignmentId=task.rstrip("/").rpartition("/")[2], tone="sad")

    printed = typed(f"python - <<'END'\n{approve.text}END", server, **keys)
    assert "<FreeText>sad</FreeText>" in printed
    assert printed.endswith("19.28\n")
    assert "<dt>To be paid</dt><dd>$0.30</dd>" in worker.get("/marketplace/earnings/")
