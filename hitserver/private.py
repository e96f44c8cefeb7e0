"""Private files and secrets."""

from __future__ import annotations

import os
import secrets
import stat
import zlib
from itertools import pairwise
from pathlib import Path

#: Placeholders for a secret in templates, examples and Django's own command.
PLACEHOLDERS = ("insecure", "changeme", "change-me", "change_me", "example", "password", "your-secret", "yoursecret")
LEAST_DIFFERENT, LEAST_COMPRESSED = 12, 40


def secret_in_file(path: Path) -> str:
    """The secret in a file that only its owner can read. The first use makes the file; signed links survive a restart.

    If two processes are first at the same time, each tries to link its own file into place, and one of them wins.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


def weakness(secret: str) -> str:
    """Why this secret could be guessed; empty if it is good enough."""
    plain = secret.lower()
    if placeholder := next((word for word in PLACEHOLDERS if word in plain), ""):
        return f"it contains “{placeholder}”, so it seems to be a placeholder"
    steps = [ord(after) - ord(before) for before, after in pairwise(secret)]
    in_order = sum(abs(step) <= 1 for step in steps) > len(steps) / 2
    if in_order or len(set(secret)) < LEAST_DIFFERENT or len(zlib.compress(secret.encode(), 9)) < LEAST_COMPRESSED:
        return "it repeats itself, or follows the alphabet"
    return ""


def private_folder(folder: Path) -> str:
    """Makes a folder that only this user can open. Returns a warning if an existing one stays open to others, else "".

    It closes an existing folder that is empty or that this server has used before. Any other may be somebody's home
    folder.
    """
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        return ""
    status = folder.stat()
    if not stat.S_IMODE(status.st_mode) & 0o077:
        return ""
    if status.st_uid == os.getuid() and ((folder / "broker").is_dir() or not any(folder.iterdir())):
        folder.chmod(0o700)
        return ""
    return f"Other users of this machine can open {folder}, which holds people's data. Run: chmod 700 {folder}"


def keep_new_files_private() -> None:
    """From now on, only their user can read what this process and its children write."""
    os.umask(0o077)
