"""Runs a command of manage.py with the settings of this machine, as the server's user, in the caller's folder."""

from __future__ import annotations

import os
import sys

from deploy.machine.layout import Layout
from deploy.machine.steps import Failure, ids_of
from deploy.machine.upgrade import manage


def main() -> None:
    layout = Layout()
    try:
        command = manage(layout, layout.current_release(), *sys.argv[1:])
        environment = layout.environment()
    except Failure as failure:
        sys.exit(str(failure))
    uid, gid = ids_of(layout.user)
    os.setgroups(os.getgrouplist(layout.user, gid))
    os.setgid(gid)
    os.setuid(uid)
    os.umask(0o077)
    if not os.access(".", os.R_OK | os.X_OK):
        os.chdir("/")
    terminal = {name: os.environ[name] for name in ("TERM", "LANG", "COLUMNS") if name in os.environ}
    os.execve(command[0], command, terminal | environment)  # noqa: S606 - this program, with the caller's arguments


if __name__ == "__main__":
    main()
