import json
import re
import secrets
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hitserver import settings
from hitserver.private import private_folder, secret_in_file, weakness
from tests.services import ROOT
from tests.support import clean_environment

PRODUCTION = {
    "HITSERVER_ENV": "production",
    "HITSERVER_ALLOW_ROOT": "1",  # in containers, tests run as root
    "HITSERVER_SECRET_KEY": secrets.token_urlsafe(64),
    "HITSERVER_ALLOWED_HOSTS": "hits.example.org",
}
SHOWN = [
    *("DEBUG", "SECRET_KEY", "ALLOWED_HOSTS", "BASE_URL", "UNKNOWN_VARIABLES", "CELERY_BROKER_TRANSPORT_OPTIONS"),
    *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS"),
]
READ = f"import json; from hitserver import settings as s; print(json.dumps({{n: getattr(s, n) for n in {SHOWN}}}))"


def load(var: Path, *, read: str = READ, **environ: str) -> subprocess.CompletedProcess[str]:
    """Reads the settings in a separate process."""
    return subprocess.run(
        [sys.executable, "-c", read],
        env=clean_environment({"HITSERVER_VAR": str(var), **environ}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def load_named(var: Path, names: list[str], **environ: str) -> dict[str, Any]:
    """The values of these settings in this environment."""
    done = load(var, read=READ.replace(str(SHOWN), str(names)), **environ)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def test_development_works_with_nothing_set(tmp_path: Path) -> None:
    done = load(tmp_path / "var")

    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert loaded["DEBUG"] is False
    assert loaded["BASE_URL"] == "http://127.0.0.1:8000"
    assert loaded["SECURE_SSL_REDIRECT"] is False


def test_the_key_of_development_outlives_a_restart(tmp_path: Path) -> None:
    keys = {json.loads(load(tmp_path).stdout)["SECRET_KEY"] for _ in range(2)}

    assert len(keys) == 1
    assert len(keys.pop()) >= 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_secret_in_a_file_leaves_one_file(tmp_path: Path) -> None:
    first = secret_in_file(tmp_path / "key")

    assert secret_in_file(tmp_path / "key") == first
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_production_does_not_run_as_root(tmp_path: Path) -> None:
    as_root = "import os; os.geteuid = lambda: 0; from hitserver import settings; print(settings.ALLOWED_HOSTS)"
    allowed = load(tmp_path, read=as_root, **PRODUCTION)
    assert allowed.returncode == 0, allowed.stderr
    refused = load(tmp_path, read=as_root, **PRODUCTION | {"HITSERVER_ALLOW_ROOT": "0"})
    assert refused.returncode == 1
    assert "HITServer does not run as root in production" in refused.stderr
    as_user = as_root.replace("lambda: 0", "lambda: 1000")
    assert load(tmp_path, read=as_user, **PRODUCTION | {"HITSERVER_ALLOW_ROOT": ""}).returncode == 0


def test_production_is_https_only(tmp_path: Path) -> None:
    loaded = json.loads(load(tmp_path, **PRODUCTION).stdout)

    assert loaded["SECRET_KEY"] == PRODUCTION["HITSERVER_SECRET_KEY"]
    assert loaded["BASE_URL"] == "https://hits.example.org"
    assert loaded["SESSION_COOKIE_SECURE"] and loaded["CSRF_COOKIE_SECURE"] and loaded["SECURE_SSL_REDIRECT"]
    assert loaded["SECURE_HSTS_SECONDS"] >= 365 * 24 * 3600
    assert not (tmp_path / "secret_key").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"HITSERVER_SECRET_KEY": ""}, "HITSERVER_SECRET_KEY is not set"),
        ({"HITSERVER_SECRET_KEY": "changeme" * 8}, "can be guessed: it contains “changeme”"),
        ({"HITSERVER_SECRET_KEY": "k" * 49}, "HITSERVER_SECRET_KEY is '49 characters long'"),
        ({"HITSERVER_ALLOWED_HOSTS": ""}, "HITSERVER_ALLOWED_HOSTS is not set"),
        ({"HITSERVER_ALLOWED_HOSTS": "*"}, "HITSERVER_ALLOWED_HOSTS is '*'"),
        ({"HITSERVER_DEBUG": "1"}, "HITSERVER_DEBUG is '1'"),
        ({"HITSERVER_BASE_URL": "http://hits.example.org"}, "HITSERVER_BASE_URL is 'http://hits.example.org'"),
        ({"HITSERVER_ENV": "prod"}, "HITSERVER_ENV is 'prod'; it takes one of development, production"),
    ],
)
def test_production_fails_closed(tmp_path: Path, change: dict[str, str], message: str) -> None:
    done = load(tmp_path, **(PRODUCTION | change))

    assert done.returncode != 0
    assert message in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("broker", "options"),
    [
        ("redis://127.0.0.1/1", {"visibility_timeout": 2400, "socket_connect_timeout": 1.0, "socket_timeout": 2.0}),
        ("amqp://guest@127.0.0.1", {}),
    ],
)
def test_the_broker_is_named_by_one_address(tmp_path: Path, broker: str, options: dict[str, float]) -> None:
    assert json.loads(load(tmp_path, CELERY_BROKER_URL=broker).stdout)["CELERY_BROKER_TRANSPORT_OPTIONS"] == options


def test_an_unknown_broker_is_refused(tmp_path: Path) -> None:
    assert "CELERY_BROKER_URL is 'kafka://h'" in load(tmp_path, CELERY_BROKER_URL="kafka://h").stderr


def test_a_typing_error_in_a_name_is_noticed(tmp_path: Path) -> None:
    done = load(tmp_path, HITSERVER_PROT="9000", HITSERVER_TEST_REDIS_URL="redis://h")

    assert json.loads(done.stdout)["UNKNOWN_VARIABLES"] == ["HITSERVER_PROT"]


def documented() -> dict[str, str]:
    """Variable and default of every table row in the documentation."""
    text = (ROOT / "docs" / "settings.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)` \|(.*?)\|", text, flags=re.MULTILINE)
    return {name: default.strip(" `") for name, default in rows}


def test_every_variable_is_documented_with_its_default_and_no_other() -> None:
    read = {variable.name: variable.default for variable in settings.env.variables.values()}

    assert documented() == read


@pytest.mark.parametrize(
    "secret",
    [
        "k" * 50,
        "changeme" * 7,
        "django-insecure-rMrLugBsj_5JHIuVgOHwXy7ehf1JV9iAPJg5ty2JvE0w0TeGtqy6bg",
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "correct horse " * 5,
        "0123456789" * 6,
    ],
)
def test_a_secret_that_can_be_guessed_is_weak(secret: str) -> None:
    assert weakness(secret)


def test_secrets_as_programs_make_them_are_not_weak() -> None:
    made = [secrets.token_urlsafe(64), secrets.token_hex(32), secrets.token_urlsafe(38), secrets.token_hex(25)]
    assert [weakness(secret) for _ in range(50) for secret in made] == [""] * 200


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_private_and_one_of_this_server_becomes_so(tmp_path: Path) -> None:
    assert private_folder(tmp_path / "new" / "var") == ""
    assert mode(tmp_path / "new" / "var") == 0o700
    used = tmp_path / "used"
    (used / "broker").mkdir(parents=True)
    used.chmod(0o755)
    assert private_folder(used) == ""
    assert mode(used) == 0o700


def test_somebody_elses_folder_is_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    tmp_path.chmod(0o755)
    assert private_folder(tmp_path).endswith(f"Run: chmod 700 {tmp_path}")
    assert mode(tmp_path) == 0o755
