"""Code that all processes of a server share."""

import ctypes
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PORT_FILE = "port"
# systemd passes its sockets after the three standard streams (sd_listen_fds).
FIRST_SYSTEMD_SOCKET = 3


def die_with_parent() -> None:
    """Asks the kernel to kill this process when its parent ends, for whatever reason. Linux only."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended while we asked
        os.kill(os.getpid(), signal.SIGKILL)


def socket_from_systemd() -> socket.socket | None:
    """The first socket that systemd passed to this process; None if there is none. Children are not shown it."""
    for_this_process = os.environ.pop("LISTEN_PID", "") == str(os.getpid())
    sockets = os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if not for_this_process or not sockets.isdigit() or not int(sockets):
        return None
    os.set_inheritable(FIRST_SYSTEMD_SOCKET, False)
    return socket.socket(fileno=FIRST_SYSTEMD_SOCKET)


def tell_systemd(state: str) -> None:
    """Reports to systemd, if it started this process as a service of the type ``notify``."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        # An @ stands for a name that is not in the file system.
        sender.sendto(state.encode(), f"\0{address[1:]}" if address.startswith("@") else address)


def limit_memory(most_bytes: int) -> None:
    """Limits the memory of this process (0: no limit). A request that needs more fails, but the machine does not.

    It is a soft limit, so no special rights are needed to change it again. macOS does not support it.
    """
    if most_bytes:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (most_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))


def allow_open_files(count: int) -> int:
    """Allows this process and its children this many open files, or as many as possible. Returns how many."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (count if limit == resource.RLIM_INFINITY else limit for limit in limits)
    if soft < min(count, hard):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), limits[1]))
            return min(count, hard)
    return min(count, soft)


def note_port(folder: Path, port: int) -> None:
    """Records the server's port, so that commands in another terminal print addresses that work."""
    draft = folder / f"{PORT_FILE}.{os.getpid()}"
    draft.write_text(f"{os.getpid()} {port}")
    draft.replace(folder / PORT_FILE)


def forget_port(folder: Path) -> None:
    """Deletes the record of `note_port`, when the server stops."""
    (folder / PORT_FILE).unlink(missing_ok=True)


def noted_port(folder: Path) -> int | None:
    """The port of the server that runs on this machine with this folder; None if there is none."""
    with suppress(OSError, ValueError):
        pid, port = map(int, (folder / PORT_FILE).read_text().split())
        os.kill(pid, 0)
        return port
    return None
