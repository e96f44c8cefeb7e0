"""The default broker: a folder that the processes of one machine share.

Kombu's own file-system transport has gaps under load and after a crash. This one closes them. A message gets its name
only when it is complete. A message that a process has taken stays on disk, next to that process's lock, until it is
acknowledged. If the process ends first, for whatever reason, the message goes back into the queue.

    queue/    <time>_<unique>.<queue>.msg     waiting
    taken/    <holder>/.lock, <holder>/….msg  being worked on
    control/  <exchange>.exchange             which queues get an exchange's messages
"""
# Kombu has only a few type annotations.
# mypy: disallow-untyped-calls=False

import fcntl
import os
import time
import uuid
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import IO, Any

from kombu.transport import filesystem, virtual
from kombu.utils.json import dumps, loads

RECOVER_SECONDS = 10.0
LOOK_UP_SECONDS = 0.5
LOCK = ".lock"


class QoS(virtual.QoS):
    """Deletes the file of a message when the message is acknowledged."""

    def __init__(self, channel: "Channel", prefetch_count: int = 0) -> None:
        super().__init__(channel, prefetch_count)
        self._mark = self._quick_ack
        self._quick_ack = self._forget

    def _forget(self, delivery_tag: str) -> None:
        self._mark(delivery_tag)
        self.channel.forget(delivery_tag)


class Channel(filesystem.Channel):
    """Puts messages into the folder ``queue``, and moves them to ``taken`` while somebody works on them."""

    QoS = QoS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        folder = Path(self.transport_options["folder"])
        self.queue_folder = folder / "queue"
        self.taken_folder = folder / "taken"
        self.control = folder / "control"
        for part in (self.queue_folder, self.taken_folder, self.control):
            part.mkdir(parents=True, exist_ok=True)
        self.taken: dict[str, Path] = {}
        self._holder: IO[str] | None = None
        self._holder_folder: Path | None = None
        self._recover_after = 0.0

    @property
    def data_folder_in(self) -> Path:
        return self.queue_folder

    @property
    def control_folder(self) -> Path:
        return self.control

    # --- putting ---

    def _put(self, queue: str, payload: dict[str, Any], **kw: Any) -> None:  # type: ignore[override]  # named as Kombu's own transports name it
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}.msg"
        self._write(self.queue_folder / name, dumps(payload))

    def _write(self, path: Path, text: str) -> None:
        part = path.with_name(f"part-{uuid.uuid4().hex}")
        part.write_text(text)
        part.replace(path)

    # --- getting ---

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        if time.monotonic() >= self._recover_after:
            self._recover_after = time.monotonic() + RECOVER_SECONDS
            self.recover()
        for name in sorted(path.name for path in self.queue_folder.iterdir()):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            if self._holder_folder is None:
                # For the messages that this channel takes. The kernel holds the lock, so it ends with the process.
                folder = self.taken_folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
                draft = self.taken_folder / f".{folder.name}"
                draft.mkdir()
                self._holder = (draft / LOCK).open("w")
                fcntl.flock(self._holder, fcntl.LOCK_EX)
                self._holder_folder = draft.rename(folder)
            path = self._holder_folder / name
            try:
                (self.queue_folder / name).rename(path)
            except FileNotFoundError:  # another process was faster
                continue
            payload: dict[str, Any] = loads(path.read_text())
            self.taken[payload["properties"]["delivery_tag"]] = path
            return payload
        raise Empty

    # --- after the work, or its end ---

    def forget(self, delivery_tag: str) -> None:
        path = self.taken.pop(delivery_tag, None)
        if path is not None:
            path.unlink(missing_ok=True)

    def _restore(self, message: virtual.Message) -> None:
        super()._restore(message)
        self.forget(message.delivery_tag)

    def recover(self) -> None:
        """Puts back the messages that processes took before they ended."""
        for folder in self.taken_folder.iterdir():
            if folder == self._holder_folder or folder.name.startswith("."):
                continue
            with suppress(OSError), (folder / LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for path in folder.glob("*.msg"):
                    path.rename(self.queue_folder / path.name)
                (folder / LOCK).unlink()
                folder.rmdir()

    def close(self) -> None:
        super().close()
        if self._holder is not None and self._holder_folder is not None:
            with suppress(OSError):
                (self._holder_folder / LOCK).unlink()
                self._holder_folder.rmdir()
            self._holder.close()
            self._holder = self._holder_folder = None

    # --- which queues get an exchange's messages ---

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        binding = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        if binding in self.get_table(exchange):
            return
        with (self.control / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            table = self.get_table(exchange)
            if binding not in table:
                self._write(self._exchange_file(exchange), dumps([binding, *table]))


class Transport(filesystem.Transport):
    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **kw: Any) -> None:
        """While the folder is empty, returns often enough for a worker to notice that it should stop."""
        super().drain_events(connection, timeout=timeout and min(timeout, LOOK_UP_SECONDS))
