"""Hosts that share this machine: network namespaces on a bridge, each with a name, an address and a cable to pull.

Needs root and ``ip``. Everything is removed at the end, whatever happened before; what a killed run of the tests could
not remove, the next one does.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from hitserver.processes import die_with_parent
from tests import services
from tests.services import wait_for

#: Set aside for tests of networks (RFC 2544): no real network has these addresses.
NETWORKS = [f"198.{half}.{number}" for half in (18, 19) for number in range(256)]
#: Takes a host's name in a separate namespace, then becomes the command.
BECOME = "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"


class NoNetwork(Exception):
    """The kernel, or the rights of this process, do not allow hosts."""


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNetwork(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True)
class Host:
    """``name`` is the namespace's and, for what is started there, the host's. ``cable`` is this machine's end."""

    name: str
    cable: str
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        prefix = ["ip", "netns", "exec", self.name, "unshare", "--uts", sys.executable, "-c", BECOME, self.name]
        process = subprocess.Popen([*prefix, *command], cwd=services.ROOT, preexec_fn=die_with_parent, **options)
        self.started.append(process)
        return process

    def processes(self) -> list[int]:
        return [int(number) for number in ip("netns", "pids", self.name).split()]

    def signal(self, number: signal.Signals) -> None:
        """Sent to every process of the host."""
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """``kill -9`` of every process."""

        def empty() -> bool:
            self.signal(signal.SIGKILL)
            return not self.processes()

        wait_for(empty, f"the end of the processes of {self.name}")
        for process in self.started:
            process.communicate(timeout=10)
        self.started.clear()

    def cut_off(self) -> None:
        ip("link", "set", self.cable, "down")

    def join(self) -> None:
        ip("link", "set", self.cable, "up")


@contextmanager
def hosts(count: int) -> Iterator[tuple[str, list[Host]]]:
    """This machine's address on a new network and the hosts there. Skips where there can be none."""
    if os.getuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("network namespaces need root, on Linux")
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        services.skip_or_fail("no ip (iproute2) or no unshare (util-linux) is installed")
    mark = f"hits{os.getpid():x}"
    with ExitStack() as stack:
        try:
            _remove_leftovers()
            network = _make_bridge(stack, mark)
            members = [_make_host(stack, mark, network, number) for number in range(1, count + 1)]
        except NoNetwork as reason:
            pytest.skip(f"no network namespaces can be made here: {reason}")
        yield f"{network}.1", members


def _remove_leftovers() -> None:
    """Removes what ended processes have left. Cables first: a namespace exists until its connections are given up."""
    kinds = [("link", ip("link", "show", "type", kind)) for kind in ("veth", "bridge")]
    for remove, shown in (*kinds, ("netns", ip("netns", "list"))):
        for name, process in set(re.findall(r"\b(hits([0-9a-f]+)(?:-\d)?)\b", shown)):
            if not psutil.pid_exists(int(process, 16)):
                with suppress(NoNetwork):  # another process was faster
                    ip(remove, "delete", name)


def _make_bridge(stack: ExitStack, mark: str) -> str:
    """The first three numbers of its network's addresses, which nobody else here uses."""
    ip("link", "add", mark, "type", "bridge")
    stack.callback(ip, "link", "delete", mark)
    addresses = ip("-4", "address", "show")
    network = secrets.choice([network for network in NETWORKS if f" {network}." not in addresses])
    ip("address", "add", f"{network}.1/24", "dev", mark)
    ip("link", "set", mark, "up")
    return network


def _make_host(stack: ExitStack, mark: str, network: str, number: int) -> Host:
    host = Host(f"{mark}-{number}", f"{mark}-{number}")
    ip("netns", "add", host.name)
    stack.callback(ip, "netns", "delete", host.name)
    stack.callback(host.kill)
    ip("link", "add", host.cable, "type", "veth", "peer", "name", "eth0", "netns", host.name)
    stack.callback(ip, "link", "delete", host.cable)
    ip("link", "set", host.cable, "master", mark, "up")
    ip("-n", host.name, "address", "add", f"{network}.{10 + number}/24", "dev", "eth0")
    ip("-n", host.name, "link", "set", "eth0", "up")
    ip("-n", host.name, "link", "set", "lo", "up")
    return host
