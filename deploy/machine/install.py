"""Installs HITServer on a Debian machine. What is there already stays as it is, so it can be run again.

script/install --domain hits.example.org
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import secrets
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from deploy.machine.layout import Layout
from deploy.machine.releases import SOURCE_HEAD, Source, fetch, install_packages, source_file
from deploy.machine.services import SERVICES, systemd_runs, wait_until_healthy
from deploy.machine.steps import Failure, Steps, output, succeeds

CHECKOUT = Path(__file__).resolve().parent.parent.parent
UNITS = Path("/usr/local/lib/systemd/system")
CADDYFILE = Path("/etc/caddy/Caddyfile")
WRITTEN = "# Written by script/install. To change it by hand, delete this line: then it stays as it is.\n"
EXAMPLE_HOST = "hits.example.org"
SOURCE_HELP = "git repository or folder that versions come from, now and later (default: this folder)"
LEAST_FREE_GB = 3
DATABASE_URL = "postgres://hitserver@%2Fvar%2Frun%2Fpostgresql/hitserver"


@dataclass(frozen=True)
class Wishes:
    """What the person who installs has chosen."""

    domain: str
    public: bool
    postgres: bool
    redis: bool
    models: bool
    proxy: bool
    administrator: str
    version: str
    source: str


def install(layout: Layout, steps: Steps, wishes: Wishes) -> None:
    began = time.monotonic()
    steps.step("1. Look at this machine")
    check_machine(steps)
    steps.step("2. Install Debian's packages")
    install_debian_packages(steps, wishes)
    steps.step("3. Make the user and the folders")
    make_user_and_folders(layout, steps)
    steps.step("4. Get the code and its Python packages")
    steps.write(source_file(layout), f"{wishes.source or origin() or CHECKOUT}\n")
    if not steps.dry_run and (layout.current / "manage.py").is_file():
        release = layout.current_release()
        steps.say(f"  {release.name} is installed; script/upgrade installs another version")
    else:
        version = wishes.version or ("" if wishes.source else SOURCE_HEAD)
        release = fetch(layout, steps, Source(wishes.source or str(CHECKOUT)), version)
    install_packages(layout, steps, release, models=wishes.models)
    steps.step("5. Make the database")
    if wishes.postgres:
        make_postgres_database(layout, steps)
    else:
        steps.say("  SQLite: the server makes its file by itself")
    steps.step("6. Write the settings")
    write_settings(layout, steps, wishes)
    steps.step("7. Make the tables and collect the static files")
    steps.link(layout.current, release)
    python = layout.current / ".venv" / "bin" / "python"
    steps.run(
        python, "-m", "hitserver.prepare", user=layout.user, environment=layout.environment(), folder=layout.current
    )
    steps.step("8. Start the server, now and with the machine")
    install_units(steps, CHECKOUT if steps.dry_run else release)
    start(layout, steps, wishes)
    steps.step("9. Set up the web server in front")
    if wishes.proxy:
        set_up_caddy(steps, wishes)
    else:
        steps.say("  left to you, see docs/installing.md; the server listens on 127.0.0.1:8000")
    steps.step("10. Make the first administrator")
    password = make_administrator(layout, steps, wishes.administrator)
    took = time.monotonic() - began
    if steps.dry_run:
        steps.say("\nThis was a dry run: nothing was changed.")
    else:
        steps.say(f"\nHITServer is installed at https://{wishes.domain}/console/ ({took:.0f} s).\n{password}")


def origin() -> str:
    """Where this checkout was cloned from; empty if it was not."""
    trusting = ("git", "-c", f"safe.directory={CHECKOUT}", "-C", str(CHECKOUT))
    try:
        return output([*trusting, "remote", "get-url", "origin"]).strip()
    except Failure:
        return ""


def check_machine(steps: Steps) -> None:
    """Raises Failure if the rest would fail later."""
    if not steps.dry_run and os.geteuid() != 0:
        raise Failure("script/install changes the machine, so it needs root: sudo script/install (--dry-run does not).")
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.MULTILINE))
    name = release.get("PRETTY_NAME", "this system")
    if shutil.which("apt-get") is None:
        raise Failure(
            f"script/install knows Debian and Ubuntu; this is {name}. By hand you need Python 3.11 with venv, git, "
            "PostgreSQL and a web server with TLS: docs/installing.md, “Other systems”."
        )
    if (release.get("ID"), release.get("VERSION_ID")) not in (("debian", "12"), ("debian", "13")):
        steps.say(f"  This is {name}. Debian 12 and 13 are what script/install was written for; others may differ.")
    free = shutil.disk_usage("/opt" if Path("/opt").is_dir() else "/").free / 1024**3
    if free < LEAST_FREE_GB:
        raise Failure(f"Only {free:.1f} GB are left on the disk; {LEAST_FREE_GB} GB are needed. Make room first.")
    steps.say(f"  {name}, Python {platform.python_version()}, {free:,.0f} GB free")


def install_debian_packages(steps: Steps, wishes: Wishes) -> None:
    packages = ["python3-venv", "git", "ca-certificates", "postgresql-client"]
    packages += ["postgresql"] if wishes.postgres else []
    packages += ["redis-server"] if wishes.redis else []
    packages += ["caddy"] if wishes.proxy else []
    query = "dpkg-query -Wf '${db:Status-Status}' %s | grep -qx installed"
    missing = [name for name in packages if not succeeds("sh", "-c", query % name)]
    if not missing:
        steps.say("  all are there")
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    steps.run("apt-get", "update", "-qq", environment=environment)
    steps.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, environment=environment)


def make_user_and_folders(layout: Layout, steps: Steps) -> None:
    var = Path("/var/lib/hitserver")
    if not succeeds("id", layout.user):
        shell = ("--shell", "/usr/sbin/nologin")
        steps.run("useradd", "--system", "--user-group", "--home-dir", var, "--no-create-home", *shell, layout.user)
    for folder in (layout.home, layout.releases, layout.packages, layout.settings_file.parent):
        steps.folder(folder)
    for folder in (var, layout.backups):
        steps.folder(folder, mode=0o700, user=layout.user)
    command = Path("/usr/local/bin/hitserver")
    if not command.is_symlink():
        steps.link(command, layout.current / "deploy" / "hitserver")


def make_postgres_database(layout: Layout, steps: Steps) -> None:
    """A role and a database of the same name. The role signs in as the user of the machine, so there is no password."""
    if not steps.dry_run and not succeeds("pg_isready", "--quiet"):
        # Without systemd, Debian's package does not start it.
        steps.run("service", "postgresql", "start")
        if not succeeds("sh", "-c", "for i in $(seq 30); do pg_isready -q && exit; sleep 1; done; exit 1"):
            raise Failure("PostgreSQL does not answer. Look at: journalctl -u postgresql@*, and /var/log/postgresql")
    encoding = ("--encoding=UTF8", "--template=template0")
    for what, names, command in (
        ("role", "SELECT rolname FROM pg_roles", ("createuser", layout.user)),
        (
            "database",
            "SELECT datname FROM pg_database",
            ("createdb", "--owner", layout.user, *encoding, layout.user),
        ),
    ):
        query = ("psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", names)
        if not steps.dry_run and layout.user in output(query, user="postgres").split():
            steps.say(f"  the {what} {layout.user} is there")
        else:
            steps.run(*command, user="postgres")


def write_settings(layout: Layout, steps: Steps, wishes: Wishes) -> None:
    """The settings file from its template. What somebody has set stays; only a missing value is filled in."""
    text = layout.settings_file.read_text() if layout.settings_file.is_file() else ""
    text = text or (CHECKOUT / "deploy" / "hitserver.env").read_text()
    values = {
        "HITSERVER_SECRET_KEY": secrets.token_urlsafe(64),
        "HITSERVER_ALLOWED_HOSTS": wishes.domain,
        "DATABASE_URL": DATABASE_URL if wishes.postgres else "",
        "CELERY_BROKER_URL": "redis://127.0.0.1:6379/0" if wishes.redis else "",
        "HITSERVER_WEB_WORKERS": str(max(2, min(8, os.cpu_count() or 2))),
    }
    for name, value in values.items():
        text = re.sub(rf"^{name}=[ \t]*$", f"{name}={value}", text, flags=re.MULTILINE)
    if not steps.write(layout.settings_file, text, mode=0o600):
        steps.say(f"  {layout.settings_file} stays as it is")
    hosts = layout.environment().get("HITSERVER_ALLOWED_HOSTS", wishes.domain).split(",")
    if not steps.dry_run and wishes.domain not in hosts:
        raise Failure(
            f"{layout.settings_file} allows {', '.join(hosts)} and not {wishes.domain}. Write it first into the list "
            "HITSERVER_ALLOWED_HOSTS there, then run this again."
        )


def install_units(steps: Steps, release: Path) -> None:
    """Copies a version's units. Changes of the administrator are in drop-ins (systemctl edit), which stay."""
    steps.folder(UNITS)
    changed = [
        steps.write(UNITS / unit.name, unit.read_text()) for unit in sorted((release / "deploy" / "systemd").iterdir())
    ]
    if any(changed) and systemd_runs():
        steps.run("systemctl", "daemon-reload")


def start(layout: Layout, steps: Steps, wishes: Wishes) -> None:
    units = ["hitserver.socket", SERVICES[0], "hitserver-backup.timer", *(SERVICES[1:] if wishes.models else ())]
    if shutil.which("systemctl") is None:
        steps.say("  There is no systemd: start by hand what ExecStart says in deploy/systemd/hitserver.service.")
        return
    steps.run("systemctl", "enable", "--quiet", *units)
    if not systemd_runs():
        steps.say("  systemd does not run here, so nothing is started now; it starts with the machine.")
        return
    steps.run("systemctl", "restart", *units)
    if not steps.dry_run:
        wait_until_healthy(layout)
        steps.say("  it works: http://127.0.0.1:8000/healthz")


def caddyfile(wishes: Wishes, *, old_caddy: bool) -> str:
    text = (CHECKOUT / "deploy" / "caddy" / "Caddyfile").read_text().replace(EXAMPLE_HOST, wishes.domain)
    if not wishes.public:
        text = text.replace(f"\n{wishes.domain} {{\n", f"\n{wishes.domain} {{\n    tls internal\n")
    if old_caddy:  # before 2.7, as in Debian 12 and 13
        text = text.replace("request_buffers 64MiB", "buffer_requests\n        max_buffer_size 64MiB")
    return WRITTEN + text


def set_up_caddy(steps: Steps, wishes: Wishes) -> None:
    version = "" if shutil.which("caddy") is None else output(["caddy", "version"])
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    text = caddyfile(wishes, old_caddy=bool(numbers) and numbers < [2, 7])
    there = CADDYFILE.read_text() if CADDYFILE.is_file() else ""
    if there and not there.startswith(WRITTEN) and "root * /usr/share/caddy" not in there:
        steps.say(f"  {CADDYFILE} is yours and stays as it is. Add to it what deploy/caddy/Caddyfile has.")
        return
    if steps.write(CADDYFILE, text):
        steps.run("caddy", "validate", "--config", CADDYFILE, "--adapter", "caddyfile", quiet=True)
    if systemd_runs():
        steps.run("systemctl", "enable", "--quiet", "caddy")
        steps.run("systemctl", "reload-or-restart", "caddy")
    else:
        steps.say("  systemd does not run here; by hand: caddy start --config /etc/caddy/Caddyfile")
    if not wishes.public:
        steps.say("  The certificate is Caddy's own: browsers warn once. With a public name, run this with --domain.")


def make_administrator(layout: Layout, steps: Steps, name: str) -> str:
    """What to tell the person; empty if there is an administrator."""
    manage = (layout.current / ".venv" / "bin" / "python", layout.current / "manage.py")
    environment = layout.environment()
    listing = (*manage, "user", "list")
    if not steps.dry_run and "administrator" in output([*map(str, listing)], user=layout.user, environment=environment):
        steps.say("  there is one")
        return "Sign in as before."
    said = steps.run(*manage, "user", "add", name, "--administrator", user=layout.user, environment=environment)
    return f"{said.strip()}\nChange the password after you have signed in."


def main() -> None:
    os.umask(0o022)
    parser = argparse.ArgumentParser(prog="script/install", description="Install HITServer on this machine.")
    parser.add_argument("--domain", help="the name that leads to this machine; gets a certificate from Let's Encrypt")
    parser.add_argument("--name", help="without a public name: what browsers of your network call this machine")
    parser.add_argument("--database", choices=("postgres", "sqlite"), default="postgres", help="default: %(default)s")
    parser.add_argument("--redis", action="store_true", help="Redis as the task queue, as for several machines")
    parser.add_argument("--models", action="store_true", help="also what runs language models (several GB)")
    parser.add_argument("--no-proxy", action="store_true", help="no Caddy: there is a web server in front already")
    parser.add_argument("--administrator", default="admin", metavar="NAME", help="first user (default: %(default)s)")
    parser.add_argument("--from", dest="source", default="", metavar="SOURCE", help=SOURCE_HELP)
    parser.add_argument("--version", default="", help="tag, branch or commit (default: what SOURCE has)")
    parser.add_argument("--dry-run", action="store_true", help="print what it would do, and change nothing")
    options = parser.parse_args()
    wishes = Wishes(
        domain=options.domain or options.name or socket.getfqdn(),
        public=bool(options.domain),
        postgres=options.database == "postgres",
        redis=options.redis,
        models=options.models,
        proxy=not options.no_proxy,
        administrator=options.administrator,
        version=options.version,
        source=options.source,
    )
    try:
        if options.dry_run:
            install(Layout(), Steps(dry_run=True), wishes)
        else:
            check_machine(Steps())
            with Layout().locked():
                install(Layout(), Steps(), wishes)
    except Failure as failure:
        raise SystemExit(f"\n{failure}\nFix it, then run script/install again: what is done stays done.") from None
    except KeyboardInterrupt:
        raise SystemExit("\nscript/install was interrupted. Run it again: what is done stays done.") from None


if __name__ == "__main__":
    main()
