"""The client and its notebook against a server that runs, with its task workers."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hitserver_client import AsyncClient, Client, NotFound, Refused, Report
from hitserver_client.command import main
from tests.services import ROOT
from tests.support import Server, running_server

pytestmark = pytest.mark.slow

MAKE_TOKEN = """
from accounts import tokens
from accounts.users import User
from tests.factories import make_researcher
print(tokens.create_token(user=make_researcher("ada"), name="notebook", scopes=["read", "collect", "pay"]).text)
"""
LIKERT = {
    "slug": "small-study",
    "title": "Two texts",
    "task_type": "likert",
    "reward": "0.10",
    "config": {"statements": [{"topic": "liked", "question": "I like the text."}]},
}
TEXTS = [{"sample_id": "a", "text": "It rained."}, {"sample_id": "b", "text": "The sun came out."}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("client") / "var", worker=True) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    return server.manage("shell", "--no-imports", "-c", MAKE_TOKEN).split()[-1]


@pytest.fixture
def address(server: Server, token: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server, known to the client by the environment."""
    monkeypatch.setenv("HITSERVER_URL", server.base_url)
    monkeypatch.setenv("HITSERVER_TOKEN", token)
    return server.base_url


def test_the_notebook_goes_from_a_data_frame_to_findings(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with redirect_stdout(printed):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102 - the project's own notebook
    assert "reward: “-1”" in printed.getvalue() and "48 submissions cost $9.60" in printed.getvalue()
    answers: pd.DataFrame = names["answers"]
    # 16 texts, three ratings each, one statement.
    assert len(answers) == 48 and set(answers["system"]) == {"baseline", "ours"}
    assert names["study"].status == "closed" and isinstance(names["report"], Report)
    page = (tmp_path / "two-systems-report" / "report.html").read_text(encoding="utf-8")
    assert "baseline" in page and "ours" in page


def test_a_terminal_sets_up_runs_and_reads_a_study(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.json").write_text(json.dumps({**LIKERT, "slug": "by-command", "items": "items.csv"}))
    (tmp_path / "items.csv").write_text("sample_id,text\na,It rained.\nb,The sun came out.\n")
    assert main(["apply", str(tmp_path / "study.json"), "--dry-run"]) == 0
    assert "Nothing was written." in capsys.readouterr().out
    with Client() as hits, pytest.raises(NotFound):
        hits.study("by-command")
    assert main(["apply", str(tmp_path / "study.json")]) == 0
    assert main(["publish", "by-command"]) == 0
    assert main(["simulate", "by-command", "--workers", "2"]) == 0
    out = tmp_path / "long.csv"
    assert main(["export", "by-command", "long", "--out", str(out)]) == 0
    assert len(pd.read_csv(out)) == 4  # two texts, two workers
    assert main(["pause", "by-command"]) == 0
    assert "by-command is paused." in capsys.readouterr().out
    assert main(["delete", "by-command"]) == 1
    assert "draft" in capsys.readouterr().err.lower()


def test_a_refusal_names_the_row_and_the_column(address: str) -> None:
    with Client() as hits, pytest.raises(Refused) as refused:
        hits.create_study({**LIKERT, "slug": "refused"}, [*TEXTS, {"sample_id": "c", "text": ""}])
    [reason] = refused.value.errors
    assert (reason.row, reason.column) == (3, "text")
    with Client() as hits, pytest.raises(NotFound):
        hits.study("refused")


def test_a_write_with_the_same_key_happens_once(address: str) -> None:
    with Client() as hits:
        spec = {**LIKERT, "slug": "once"}
        first = hits.create_study(spec, TEXTS, key="the-same-key")
        again = hits.create_study(spec, TEXTS, key="the-same-key")
        assert first.data == again.data
        assert [study.slug for study in hits.studies()].count("once") == 1


def test_the_client_with_async_does_the_same(address: str) -> None:
    async def sizes() -> tuple[int, int]:
        async with AsyncClient() as hits:
            study = await hits.create_study({**LIKERT, "slug": "with-async"}, TEXTS)
            await study.launch()
            await (await study.simulate(2)).wait()
            return len(await study.frame()), len([row async for row in study.ratings()])

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop: browsers leave theirs running
        assert pool.submit(asyncio.run, sizes()).result() == (4, 4)
