"""Starts the server's processes, keeps them running and stops them together.

    python -m hitserver.supervisor [--bind ADDRESS] [--port PORT] [--no-worker | --no-models | --only-models]

Every child leads its own process group. A child that ends is started again, after a pause that doubles while it keeps
ending early. SIGTERM and SIGINT stop all children. Those that do not stop in time are killed, immediately on a second
signal. If the supervisor itself is killed, the kernel ends its children (Linux).
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from types import FrameType

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from generation.backends.requirements import NONE_HERE, runnable
from hitserver.celery import MODEL_QUEUE
from hitserver.private import keep_new_files_private
from hitserver.processes import die_with_parent, forget_port, note_port, socket_from_systemd, tell_systemd

STOP_SECONDS = 10.0
START_SECONDS = 60.0
TICK_SECONDS = 0.2
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
SEND_BUFFER_BYTES = 256 * 1024
# A child that ran this long was healthy: its next end does not count together with earlier ones.
WELL_AFTER_SECONDS = 30.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass
class Child:
    """One process with its group, and when it can be started again after it ends."""

    name: str
    command: Sequence[str]
    stop_signal: signal.Signals = signal.SIGTERM
    pass_fds: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = FIRST_PAUSE
    start_at: float = field(default=0.0)

    def start(self) -> None:
        self.started = time.monotonic()
        # There is only one thread, so the work between fork and exec is safe.
        self.process = subprocess.Popen(
            self.command,
            # Gunicorn would report to systemd by itself, too early.
            env={name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"},
            pass_fds=self.pass_fds,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=die_with_parent,
        )

    def tend(self) -> None:
        """Starts the process when it is due, and notices when it has ended."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.start_at:
                self.start()
            return
        code = self.process.poll()
        if code is None:
            return
        self.kill()  # what the ended process may have left of its group
        self.process = None
        self.pause = FIRST_PAUSE if now - self.started > WELL_AFTER_SECONDS else self.pause
        self.start_at = now + self.pause
        say(f"{self.name} ended with code {code}; it starts again in {self.pause:g} s.")
        self.pause = min(self.pause * 2, LONGEST_PAUSE)

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ask_to_stop(self) -> None:
        if self.process is not None and self.running():
            self.process.send_signal(self.stop_signal)

    def kill(self) -> None:
        """Ends the whole group, even if its leader has already ended."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Supervisor:
    """Keeps all children running until a signal arrives, then stops them."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.children = children
        self.signals = 0

    def catch_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._count_signal)
        # Interrupts the sleep, so that an ended child is noticed immediately.
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        reader, writer = socket.socketpair()
        for end in (reader, writer):
            end.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._wakeup = (reader, writer)

    def _count_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1

    def sleep(self) -> None:
        reader = self._wakeup[0]
        reader.settimeout(TICK_SECONDS)
        with suppress(TimeoutError, BlockingIOError):
            reader.recv(256)

    def run(self) -> None:
        """Looks after the children until a signal arrives."""
        while not self.signals:
            for child in self.children:
                child.tend()
            self.sleep()

    def stop(self) -> None:
        """Asks all children to stop, waits, then kills the rest."""
        before = self.signals
        for child in self.children:
            child.ask_to_stop()
        deadline = time.monotonic() + STOP_SECONDS
        while any(child.running() for child in self.children):
            if time.monotonic() > deadline or self.signals > before:
                break
            self.sleep()
        for child in self.children:
            if child.running():
                say(f"{child.name} did not stop in time and was killed.")
            child.kill()


def listen(bind: str, port: int) -> socket.socket:
    """The web server's socket, bound before anything starts. Raises SystemExit if the port is in use.

    A socket that systemd holds comes first. It stays open during a restart: visitors wait, and nobody is refused.
    """
    if inherited := socket_from_systemd():
        inherited.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        return inherited
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. A whole page fits, so that no thread waits for a client that reads slowly.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    try:
        listener.bind((bind, port))
    except OSError as error:
        listener.close()
        raise SystemExit(
            f"Cannot listen on {bind} port {port}: {error.strerror}. "
            "Choose another with --port or HITSERVER_PORT, or stop the program that uses it."
        ) from None
    listener.listen(2048)
    return listener


def web(listener: socket.socket) -> Child:
    """The web server on this socket."""
    return Child(
        name="web",
        command=[
            *(sys.executable, "-m", "gunicorn"),
            *("--config", "python:hitserver.gunicorn_conf"),
            *("--bind", f"fd://{listener.fileno()}"),
        ],
        pass_fds=(listener.fileno(),),
    )


def celery(name: str, *arguments: str, stop_signal: signal.Signals = signal.SIGTERM) -> Child:
    command = [sys.executable, "-m", "celery", "--app", "hitserver", "--quiet", *arguments]
    return Child(name=name, command=command, stop_signal=stop_signal)


def available_queues() -> list[str]:
    """The queues that this machine can work on. Prints which it cannot, and why."""
    without_models = [queue for queue in settings.WORKER_QUEUES if queue != MODEL_QUEUE]
    if "studies" not in settings.PARTS or MODEL_QUEUE not in settings.WORKER_QUEUES:
        return without_models
    if not runnable():
        say(f"This server runs no language models. {NONE_HERE}")
        return without_models
    return list(settings.WORKER_QUEUES)


def worker(queue: str) -> Child:
    """A worker for one queue. One process loads the models and keeps them between tasks.

    It is forked before anything imports torch, whose threads would not survive a fork. The parent keeps talking to the
    broker while the child computes.
    """
    concurrency = 1 if queue == MODEL_QUEUE else settings.WORKER_PROCESSES
    return celery(
        f"worker-{queue}",
        "worker",
        *("--queues", queue, "--hostname", f"{queue}@%h", "--concurrency", str(concurrency)),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        # On SIGQUIT, a worker gives its tasks a few seconds, then returns them to the queue.
        stop_signal=signal.SIGQUIT,
    )


def workers(*, with_models: bool) -> list[Child]:
    """One worker for each queue, so that none waits behind another, and the scheduler."""
    scheduler = celery("scheduler", "beat", "--pidfile=")
    if with_models:
        return [*map(worker, available_queues()), *suggesters(), scheduler]
    return [*(worker(queue) for queue in settings.WORKER_QUEUES if queue != MODEL_QUEUE), scheduler]


def suggesters() -> list[Child]:
    """The processes that write live suggestions, if language models can run here. Without an active suggester, they
    only look for one now and then."""
    if "studies" not in settings.PARTS or not runnable():
        return []
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "suggester", "run"]
    names = [f"suggester-{number}" for number in range(1, settings.SUGGESTER_PROCESSES + 1)]
    return [Child(name=name, command=[*command, "--rows", str(settings.SUGGESTER_ROWS)]) for name in names]


def prepare() -> str:
    """Brings the database and the static files up to date, in a separate process that frees its memory when it ends.

    Returns what to print when the server is ready. Raises SystemExit if it fails.
    """
    prepared = subprocess.run(
        [sys.executable, "-m", "hitserver.prepare"], check=False, stdout=subprocess.PIPE, text=True
    )
    if prepared.returncode:
        raise SystemExit("The server was not started: what it needs could not be prepared, see above.")
    return prepared.stdout.rstrip()


def answers(host: str, port: int) -> bool:
    """Whether the web server responds."""
    connection = HTTPConnection(host, port, timeout=2)
    try:
        # An allowed host name. Otherwise the log would begin with complaints about ours.
        name = next((name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"), host)
        connection.request("GET", "/healthz/live", headers={"Host": name})
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True


def wait_until_ready(supervisor: Supervisor, server: Child, host: str, port: int) -> bool:
    """Whether the web server started. If it ends before it has ever answered, another start would also fail."""
    deadline = time.monotonic() + START_SECONDS
    while not supervisor.signals and server.running() and time.monotonic() < deadline:
        if answers(host, port):
            return True
        supervisor.sleep()
    return False


def work_on_models() -> int:
    """Runs what needs language models, and nothing else: no pages, no scheduler, no changes of tables."""
    if not runnable():
        raise SystemExit(f"Nothing to do: this machine runs no language models. {NONE_HERE}")
    supervisor = Supervisor([worker(MODEL_QUEUE), *suggesters()])
    supervisor.catch_signals()
    tell_systemd("READY=1")
    say("HITServer works on language models (Ctrl-C stops it)")
    try:
        supervisor.run()
    finally:
        supervisor.stop()
    return 0


def serve(bind: str, port: int, *, with_worker: bool, with_models: bool) -> int:
    listener = listen(bind, port)
    bind, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind, bind)  # noqa: S104 - asked for, not chosen
    os.environ["HITSERVER_BIND"], os.environ["HITSERVER_PORT"] = bind, str(port)
    note_port(settings.VAR, port)
    for name in settings.UNKNOWN_VARIABLES:
        say(f"{name} is set, but no setting has that name; see docs/settings.md.")
    warn(bind)
    welcome = prepare()
    server = web(listener)
    supervisor = Supervisor([server, *(workers(with_models=with_models) if with_worker else [])])
    supervisor.catch_signals()
    server.start()
    try:
        if not wait_until_ready(supervisor, server, host, port):
            if supervisor.signals:
                return 0
            say("The web server did not start. Its messages are above.")
            return 1
        say(f"HITServer is ready at http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl-C stops it)")
        if welcome:
            say(welcome)
        tell_systemd("READY=1")
        supervisor.run()
    finally:
        tell_systemd("STOPPING=1")
        supervisor.stop()
        forget_port(settings.VAR)
        listener.close()
    say("HITServer has stopped.")
    return 0


def warn(bind: str) -> None:
    """Warns if others can reach the server, or open its folder, without need."""
    if settings.OPEN_FOLDER:
        say(settings.OPEN_FOLDER)
    if not settings.PRODUCTION and not is_loopback(bind):
        say(
            f"WARNING: this is a development server, and everybody who can reach {bind} can use it. Passwords are\n"
            "sent without encryption. For a study set HITSERVER_ENV=production and put a web server in front of it,\n"
            "see docs/operating.md. To use it on this machine alone, leave out --bind and HITSERVER_BIND."
        )


def is_loopback(bind: str) -> bool:
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def main() -> int:
    keep_new_files_private()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
    try:
        bind, port = settings.BIND, settings.PORT
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from None
    script = "script/server" if "studies" in settings.PARTS else "script/marketplace"
    parser = argparse.ArgumentParser(prog=script, description="Run the web server and its workers.")
    parser.add_argument("--bind", default=bind, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=port, help="port; 0 picks a free one (default: %(default)s)")
    parser.add_argument("--no-worker", action="store_true", help="web only: no task workers and no scheduler")
    models = parser.add_mutually_exclusive_group()
    models.add_argument("--no-models", action="store_true", help="leave language models to other processes")
    models.add_argument("--only-models", action="store_true", help="only what runs language models: no web server")
    options = parser.parse_args()
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is {options.port}; it must be from 0 to 65535.")
    if options.only_models:
        return work_on_models()
    return serve(options.bind, options.port, with_worker=not options.no_worker, with_models=not options.no_models)


if __name__ == "__main__":
    sys.exit(main())
