"""Steps that say what they do, run it, and stop at the first that fails. A dry run only says it."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Failure(Exception):
    """Something that the person at the machine has to know: what happened, and what to do next."""


@dataclass(frozen=True)
class Steps:
    """``dry_run``: nothing is changed."""

    dry_run: bool = False

    def say(self, text: str) -> None:
        print(text, flush=True)

    def step(self, text: str) -> None:
        self.say(f"\n{text}")

    def run(
        self,
        *command: str | Path,
        user: str = "",
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        quiet: bool = False,
    ) -> str:
        """What the command printed. Raises Failure with the end of that if it fails. ``quiet`` shows no command."""
        words = [str(word) for word in command]
        if self.dry_run or not quiet:
            self.say(f"  $ {'runuser -u ' + user + ' -- ' if user else ''}{shlex.join(words)}")
        return "" if self.dry_run else output(words, user=user, environment=environment, folder=folder)

    def write(self, path: Path, text: str, *, mode: int = 0o644, user: str = "") -> bool:
        """Writes a file whole. Returns whether it changed."""
        if path.is_file() and path.read_text() == text:
            return False
        self.say(f"  writes {path}")
        if self.dry_run:
            return True
        draft = path.with_name(f"{path.name}.new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.chmod(mode)
        if user:
            os.chown(draft, *ids_of(user))
        draft.replace(path)
        return True

    def folder(self, path: Path, *, mode: int = 0o755, user: str = "") -> None:
        if not path.is_dir():
            self.say(f"  makes the folder {path}")
        if self.dry_run:
            return
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        if user:
            os.chown(path, *ids_of(user))

    def link(self, link: Path, target: Path) -> None:
        """Makes or moves a symbolic link, without a moment in which there is none."""
        self.say(f"  links {link} to {target}")
        if self.dry_run:
            return
        draft = link.with_name(f"{link.name}.new")
        draft.unlink(missing_ok=True)
        draft.symlink_to(target)
        draft.replace(link)


def output(
    command: Sequence[str],
    *,
    user: str = "",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """What a command printed; nobody sees it before. Raises Failure if it fails."""
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command,
            env=environment,
            cwd=folder or "/",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            **identity(user),
        )
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}.") from None
    if done.returncode:
        ending = "\n".join(f"    {line}" for line in done.stdout.strip().splitlines()[-15:])
        raise Failure(f"This failed with code {done.returncode}: {shlex.join(command)}\n{ending}".rstrip())
    return done.stdout


def succeeds(*command: str | Path, user: str = "", environment: Mapping[str, str] | None = None) -> bool:
    """For questions to the machine: changes nothing, so a dry run asks, too."""
    try:
        output([str(word) for word in command], user=user, environment=environment)
    except Failure:
        return False
    return True


def ids_of(user: str) -> tuple[int, int]:
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid


def identity(user: str) -> dict[str, Any]:
    """Parameters of ``subprocess`` that run a program as this user; none if it runs as who we are."""
    if not user:
        return {}
    uid, gid = ids_of(user)
    if uid == os.geteuid():
        return {}
    return {"user": uid, "group": gid, "extra_groups": os.getgrouplist(user, gid), "umask": 0o077}


def confirm(question: str) -> bool:
    """Whether the person answers yes. Without a terminal, nobody can."""
    if not sys.stdin.isatty():
        raise Failure(f"{question} Nobody can answer here. Add --yes.")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
