"""Where the client finds the address and the token, and who else could see the token."""

import stat
from pathlib import Path

import pytest

from hitserver_client import Client, HitserverError
from hitserver_client.access import Access, find, save


@pytest.fixture(autouse=True)
def nothing_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("HITSERVER_URL", raising=False)
    monkeypatch.delenv("HITSERVER_TOKEN", raising=False)


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HITSERVER_URL", "https://hits.example.org")
    monkeypatch.setenv("HITSERVER_TOKEN", "hits_1\n")
    assert find() == Access("https://hits.example.org", "hits_1")


def test_a_saved_login_serves_its_own_server_only() -> None:
    save(Access("https://hits.example.org", "hits_1"))
    assert find() == find("https://hits.example.org/") or find().token == "hits_1"
    with pytest.raises(HitserverError, match=r"no token for https://other\.example\.org"):
        find("https://other.example.org")


def test_only_the_owner_of_the_account_reads_the_saved_token() -> None:
    path = save(Access("https://hits.example.org", "hits_1"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_missing_is_said_with_what_to_do() -> None:
    with pytest.raises(HitserverError, match=r"Which server.*hitserver login ADDRESS"):
        find()
    with pytest.raises(HitserverError, match="Create one in the console on the page Your account"):
        find("https://hits.example.org")
    with pytest.raises(HitserverError, match="Write it with https://"):
        find("hits.example.org", "hits_1")


def test_logs_and_notebooks_do_not_show_the_token() -> None:
    client = Client("https://hits.example.org", "hits_secret")
    assert "secret" not in f"{client!r} {client.transport.access!r}"
