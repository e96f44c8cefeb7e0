"""Looks for known vulnerabilities of what the lock files name. See ``script/audit --help``.

pip-audit also ends with 0 if the service knows nothing of a package, and with 1 if nobody answers. Here, each of these
has a status of its own, so that a machine without a way out never reports that nothing was found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NONE_KNOWN, SOME_KNOWN, FAULT, NOT_CHECKED = 0, 1, 2, 3
LOCKS = ("requirements.lock", "requirements-models.lock", "requirements-embedded.lock")
#: How pip-audit's last lines begin or what they contain if the service did not answer, or not as it should.
NO_ANSWER = (
    *("ConnectionError", "Could not connect", "Timeout", "ServiceError", "SSLError", "ProxyError", "HTTPError"),
    *("JSONDecodeError", "ChunkedEncodingError"),
)
SECONDS = 20


@dataclass(frozen=True)
class Audit:
    """What is known about one file: its packages, their vulnerabilities, what was not checked, and why."""

    n_packages: int = 0
    vulnerabilities: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    fault: str = ""


def audit(lock: Path, options: Sequence[str]) -> Audit:
    """Asks about each package that the file names for this Python and system."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "audit.json"
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--disable-pip", "--format", "json"]
        command += ["--output", str(answer), "--progress-spinner", "off", "--timeout", str(SECONDS), *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if answer.exists():
            return _read(json.loads(answer.read_text()))
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), f"status {done.returncode}")
    if any(sign in done.stderr for sign in NO_ANSWER):
        return Audit(not_checked=(f"everything: {last[:200]}",))
    return Audit(fault=last[:300])


def _read(answer: dict[str, Any]) -> Audit:
    packages = answer["dependencies"]
    vulnerabilities = [
        f"{package['name']} {package['version']}: {', '.join([known['id'], *known.get('aliases', [])])}"
        + (f", fixed in {' or '.join(known['fix_versions'])}" if known.get("fix_versions") else ", not fixed yet")
        for package in packages
        for known in package.get("vulns", [])
    ]
    skipped = [f"{package['name']}: {package['skip_reason']}" for package in packages if "skip_reason" in package]
    return Audit(len(packages), tuple(vulnerabilities), tuple(skipped))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="script/audit",
        description="Looks for known vulnerabilities of the packages in the lock files. Ends with 0 if none is known, "
        "1 if some are, 2 if a file cannot be read, 3 if not everything could be checked, such as without a network.",
    )
    parser.add_argument("locks", nargs="*", metavar="FILE", help=f"lock files (default: {', '.join(LOCKS)})")
    parser.add_argument("--service", choices=("osv", "pypi"), default="osv", help="whom to ask (default: osv)")
    parser.add_argument("--osv-url", metavar="URL", help="a copy of the OSV API, for machines without a way out")
    parser.add_argument("--ignore", action="append", default=[], metavar="ID", help="one that does not concern us")
    chosen = parser.parse_args(arguments)
    options = ["--vulnerability-service", chosen.service]
    options += ["--osv-url", chosen.osv_url] if chosen.osv_url else []
    for identifier in chosen.ignore:
        options += ["--ignore-vuln", identifier]
    statuses = {NONE_KNOWN}
    for name in chosen.locks or LOCKS:
        statuses.add(_report(name, audit(ROOT / name, options)))
    return next(status for status in (SOME_KNOWN, FAULT, NOT_CHECKED, NONE_KNOWN) if status in statuses)


def _report(name: str, result: Audit) -> int:
    if result.fault:
        print(f"{name}: could not be read. {result.fault}")
        return FAULT
    for line in result.vulnerabilities:
        print(f"{name}: {line}")
    if result.not_checked:
        print(f"{name}: NOT CHECKED, so there may be vulnerabilities:")
        print("\n".join(f"  {line}" for line in result.not_checked))
    if result.vulnerabilities:
        return SOME_KNOWN
    if result.not_checked:
        return NOT_CHECKED
    print(f"{name}: no known vulnerabilities in {result.n_packages} packages")
    return NONE_KNOWN


if __name__ == "__main__":
    sys.exit(main())
