"""What is in deploy/ agrees with the server, with the documentation and with the programs that read it."""

from __future__ import annotations

import re
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.machine.install import Wishes, caddyfile
from hitserver import settings
from tests.services import ROOT

DEPLOY = ROOT / "deploy"
SERVICES = sorted(path.name for path in (DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
#: Variables of the files themselves: none is passed to the server under this name.
OF_COMPOSE = {"HITSERVER_DOMAIN", "HITSERVER_IMAGE", "HITSERVER_MODELS_IMAGE", "HITSERVER_MODELS_MEMORY"}
#: Without a part of their own that could be asked, or asked by their image.
WITHOUT_HEALTH = {"models", "backups", "web"}
LAB = Wishes(
    domain="hits.lab",
    public=False,
    postgres=True,
    redis=False,
    models=False,
    proxy=True,
    administrator="admin",
    version="",
    source="",
)
needs = {name: pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name} here") for name in ("caddy", "nginx")}


def unit(name: str) -> RawConfigParser:
    parser = RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "systemd" / name)
    return parser


def test_every_variable_in_deploy_is_a_setting() -> None:
    for path in DEPLOY.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and "secrets" not in path.parts:
            names = set(re.findall(r"\b(?:HITSERVER_[A-Z_]+|DATABASE_URL|CELERY_[A-Z_]+)\b", path.read_text()))
            assert names - OF_COMPOSE <= settings.env.variables.keys(), path


@pytest.mark.parametrize("file", ["nginx/hitserver.conf", "caddy/Caddyfile", "logrotate.conf"])
def test_the_documentation_shows_the_files_as_they_are(file: str) -> None:
    blocks = (ROOT / "docs" / "installing.md").read_text().split("```")[1::2]
    assert (DEPLOY / file).read_text() in [block.partition("\n")[2] for block in blocks]


def test_compose_has_the_same_caddyfile_with_its_own_names() -> None:
    plain = (DEPLOY / "caddy" / "Caddyfile").read_text()
    own = plain.replace("hits.example.org", "{$HITSERVER_DOMAIN}").replace("127.0.0.1:8000", "web:8000")
    assert (DEPLOY / "caddy" / "compose.Caddyfile").read_text() == own


@needs["caddy"]
def test_caddy_takes_the_file_that_the_installer_writes(tmp_path: Path) -> None:
    version = re.findall(r"\d+", subprocess.check_output(["caddy", "version"], text=True))[:2]
    file = tmp_path / "Caddyfile"
    file.write_text(caddyfile(LAB, old_caddy=[int(number) for number in version] < [2, 7]))
    environment = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    command = ["caddy", "adapt", "--config", str(file), "--adapter", "caddyfile"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"issuers":[{"module":"internal"}]' in done.stdout


@needs["nginx"]
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=hits"]
    subprocess.run(
        [*key, "-keyout", tmp_path / "hits.key", "-out", tmp_path / "hits.pem"], check=True, capture_output=True
    )
    own = (DEPLOY / "nginx" / "hitserver.conf").read_text().replace("/etc/ssl/", f"{tmp_path}/")
    main = f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{own}\n}}\n"
    (tmp_path / "nginx.conf").write_text(main)
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_understands_the_units_and_finds_them_closed(tmp_path: Path) -> None:
    """The programs do not exist here. From 0 (closed) to 10 (open); systemd calls up to 2 OK."""
    for path in (DEPLOY / "systemd").iterdir():
        text = re.sub(r"^(Exec\w+=\+?)\S+", r"\1/usr/bin/true", path.read_text(), flags=re.MULTILINE)
        (tmp_path / path.name).write_text(text)
    units = sorted(str(path) for path in tmp_path.iterdir())
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "hitserver" in line]
    assert ours == []
    for name in SERVICES:
        command = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(tmp_path / name)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0, name


@pytest.mark.parametrize("name", SERVICES)
def test_services_run_as_their_own_user_within_limits(name: str) -> None:
    service = unit(name)["Service"]
    assert service["User"] == "hitserver"
    assert service["ProtectSystem"] == "strict"
    assert service["MemoryMax"] and service["CapabilityBoundingSet"] == ""


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_containers_are_closed_and_limited(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] and service["restart"] == "unless-stopped"
    assert name in WITHOUT_HEALTH or service["healthcheck"]["test"]
    assert "privileged" not in service


def test_secrets_of_containers_are_in_files_and_never_in_the_repository(tmp_path: Path) -> None:
    files = {secret["file"] for secret in COMPOSE["secrets"].values()}
    script = shutil.copy(DEPLOY / "make-secrets", tmp_path)
    subprocess.run([script], check=True, capture_output=True)
    assert {f"secrets/{path.name}" for path in (tmp_path / "secrets").iterdir()} == files
    before = (tmp_path / "secrets" / "database_url").read_text()
    assert before.startswith("postgres://hitserver:") and len(before) > 80
    subprocess.run([script], check=True, capture_output=True)
    assert (tmp_path / "secrets" / "database_url").read_text() == before
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text()
