"""Gunicorn's threaded worker, except that threads only get requests that have fully arrived.

Gunicorn gives a connection to a thread as soon as its first byte arrives. A few connections that send a byte now and
then would keep all threads busy. So here the main loop first collects each request, without a thread, and closes a
connection whose request takes too long. Threads read requests that are too large for memory (uploads), but never more
than half of the threads. The same loop waits for clients to close their connections.

A process holds only so many connections. When that many are open, those that wait for the rest of a request, or for
the next one, make room for new ones. Otherwise a thousand silent connections would keep out everybody else.
"""

from __future__ import annotations

import errno
import socket
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from selectors import EVENT_READ
from typing import Any

from django.conf import settings
from gunicorn.workers.gthread import TConn, ThreadWorker

from hitserver.arriving import Head, Unacceptable, read_head, response
from hitserver.middleware import HEADER as POLICY_HEADER
from hitserver.middleware import most_bytes, policy, too_large

READ_BYTES = 64 * 1024
#: There is always room for a body up to the first size. Larger ones share a budget; beyond it, a thread reads them.
SMALL_BYTES, HELD_BYTES, ALL_HELD_BYTES = 64 * 1024, 4 * 1024 * 1024, 64 * 1024 * 1024
#: The lowest average speed that a connection may have, after the seconds that any request may take.
BYTES_PER_SECOND = 16 * 1024
#: How long one call may take to send its data.
SEND_SECONDS = 60.0
#: How long to wait for a client to close, so that it can read a response to a request that it was still sending.
LINGER_SECONDS, MOST_LINGERING = 5.0, 200
CHECK_SECONDS = 0.5
#: When the process is full, this share of its connections is closed at once, so that it need not search every time.
ROOM_SHARE = 0.1
PAGE_HEADERS = {"Content-Type": "text/html; charset=utf-8", POLICY_HEADER: policy(settings.FRAME_ANCESTORS)}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ClientSocket(socket.socket):
    """A connection's socket. Threads first read what the main loop has collected, then from the network."""

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(fileno=accepted.detach())
        self.held = bytearray()
        #: How many of the stored bytes belong to the current request. The rest belongs to the next one.
        self.ready = 0
        self.read_until = 0.0

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        if self.ready:
            data = bytes(self.held[: min(size, self.ready)])
            del self.held[: len(data)]
            self.ready -= len(data)
            return data
        left, before = self.read_until - time.monotonic(), self.gettimeout()
        if left <= 0:
            raise ConnectionResetError(errno.ECONNRESET, "The request took too long to arrive.")
        self.settimeout(left if before is None else min(left, before))
        try:
            return super().recv(size, flags)
        finally:
            self.settimeout(before)

    def recv_now(self) -> bytes | None:
        """What has arrived from the network; b"" at its end, None if there is nothing yet. Raises OSError."""
        try:
            return super().recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return None

    def send_now(self, data: bytes) -> None:
        """Sends what fits into the kernel's buffer. A client that does not even read that gets no more."""
        try:
            super().send(data)
        except OSError:
            return

    def setblocking(self, flag: bool) -> None:
        """Gunicorn asks threads' sockets to block. They do, but not forever."""
        self.settimeout(SEND_SECONDS if flag else 0.0)


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection whose next request the main loop collects."""

    sock: ClientSocket

    def __init__(self, worker: Worker, accepted: socket.socket, client: Any, server: Any) -> None:
        super().__init__(worker.cfg, ClientSocket(accepted), client, server)
        self.worker = worker
        self.data_ready = True
        self.watched = self.evicted = False
        self.begin = self.deadline = 0.0
        self.head: Head | None = None

    def close(self, graceful: bool = False) -> None:
        if graceful:
            self.worker.linger(self)
        else:
            super().close()


def address_of(conn: Connection) -> str:
    """The network address of the other end; empty for a socket file."""
    return str(conn.client[0]) if isinstance(conn.client, tuple) else ""


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Collects requests in its main loop, and gives only complete ones to threads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gathering: dict[Connection, None] = {}  # in the order in which they began to wait for a request
        self.lingering: dict[Connection, float] = {}
        self.uploading: set[Connection] = set()
        self.waiting_uploads: deque[Connection] = deque()
        self.most_uploads = max(1, self.cfg.threads // 2)
        self.check_at = 0.0

    # --- A request arrives ---

    def accept(self, listener: socket.socket) -> None:
        try:
            accepted, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._make_room()
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        self.gather(Connection(self, accepted, client, listener.getsockname()))

    def on_client_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        if conn.evicted:  # a moment ago, for a connection that was accepted first
            return
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self.gather(conn)

    def _make_room(self) -> None:
        """Closes connections without a whole request: first of the address that has most of them, the oldest first.

        An address's uploads that wait for a thread come last. Requests that have arrived are left alone.
        """
        uploads = dict.fromkeys(self.waiting_uploads)
        idle = [conn for conn in (*self.keepalived_conns, *self.gathering) if conn not in uploads]
        by_address: dict[str, list[Connection]] = {}
        for conn in (*idle, *uploads):
            by_address.setdefault(address_of(conn), []).append(conn)
        for _ in range(max(1, int(self.worker_connections * ROOM_SHARE))):
            most = max(by_address.values(), key=len, default=[])
            if not most:
                return
            conn = most.pop(0)
            conn.evicted = True
            if conn in self.gathering:
                self._drop(conn)
            else:
                self.keepalived_conns.remove(conn)
                self.poller.unregister(conn.sock)
                self.nr_conns -= 1
                conn.close()

    def gather(self, conn: Connection) -> None:
        """Collects the connection's next request. A part of it may have arrived already."""
        conn.sock.setblocking(False)
        conn.head, conn.begin = None, time.monotonic()
        conn.deadline = conn.begin + settings.REQUEST_SECONDS
        self.gathering[conn] = None
        if conn.sock.held:
            self._serve_if_complete(conn)
        else:
            self.on_arriving(conn, conn.sock)
        # Most requests arrive whole, so they are not worth watching for more.
        if conn in self.gathering and conn not in self.waiting_uploads:
            self._watch(conn, self.on_arriving)

    def on_arriving(self, conn: Connection, client: object) -> None:
        if conn.evicted:
            return
        try:
            data = conn.sock.recv_now()
        except OSError:
            data = b""
        if data == b"":
            self._drop(conn)
        elif data:
            conn.sock.held += data
            self._serve_if_complete(conn)

    def _serve_if_complete(self, conn: Connection) -> None:
        """Serves the request once it is complete, or once it is clear that it will not be collected."""
        held = len(conn.sock.held)
        try:
            if conn.head is None:
                conn.head = self._new_head(conn)
            if conn.head is None:
                return
        except Unacceptable as refused:
            self._drop(conn, response(refused.status, refused.text + "\n"))
            return
        if held >= conn.head.total:
            self._serve(conn, ready=conn.head.total)
        elif not self._has_room(conn.head):
            self._unwatch(conn)
            self.waiting_uploads.append(conn)
            self._start_uploads()

    def _new_head(self, conn: Connection) -> Head | None:
        head = read_head(conn.sock.held)
        if head is None:
            return None
        most = most_bytes(head.path)
        if head.body_bytes > most:
            refusal = too_large(head.path, most)
            headers = PAGE_HEADERS | {"Content-Type": refusal.headers["Content-Type"]}
            self._drop(conn, response("413 Content Too Large", refusal.content.decode(), headers=headers))
            return None
        conn.deadline = conn.begin + settings.REQUEST_SECONDS + head.body_bytes / BYTES_PER_SECOND
        if head.waits_for_continue and len(conn.sock.held) < head.total:
            conn.sock.send_now(CONTINUE)
        return head

    def _has_room(self, new: Head) -> bool:
        if new.body_bytes <= SMALL_BYTES:
            return True
        heads = [conn.head for conn in self.gathering]
        large = sum(head.body_bytes for head in heads if head and head.body_bytes > SMALL_BYTES)
        return new.body_bytes <= HELD_BYTES and large <= ALL_HELD_BYTES

    def _start_uploads(self) -> None:
        while self.waiting_uploads and len(self.uploading) < self.most_uploads:
            conn = self.waiting_uploads.popleft()
            self.uploading.add(conn)
            self._serve(conn, ready=len(conn.sock.held))

    def _serve(self, conn: Connection, *, ready: int) -> None:
        self._unwatch(conn)
        self.gathering.pop(conn, None)
        conn.sock.ready, conn.sock.read_until = ready, conn.deadline
        self.enqueue_req(conn)

    # --- It was served, or never will be ---

    def finish_request(self, conn: Connection, fs: Future[Any]) -> None:
        if conn in self.uploading:
            self.uploading.discard(conn)
            self._start_uploads()
        stays_open = not fs.cancelled() and fs.exception() is None and bool(fs.result())
        if stays_open and conn.sock.held and not conn.sock.ready:  # the client has sent its next request already
            self.gather(conn)
            return
        super().finish_request(conn, fs)

    def _drop(self, conn: Connection, answer: bytes = b"") -> None:
        """Closes a connection without serving its request."""
        if conn in self.waiting_uploads:
            self.waiting_uploads.remove(conn)
        self._unwatch(conn)
        self.gathering.pop(conn, None)
        self.nr_conns -= 1
        if answer:
            conn.sock.send_now(answer)
        conn.close(graceful=bool(answer))

    def linger(self, conn: Connection) -> None:
        """Ends sending, then waits for the client to close. Otherwise the client may lose what was sent last."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            conn.sock.held.clear()
            self._watch(conn, self.on_lingering)
        except (OSError, ValueError):
            conn.close()
            return
        self.lingering[conn] = time.monotonic() + LINGER_SECONDS
        if len(self.lingering) > MOST_LINGERING:
            self._end_lingering(next(iter(self.lingering)))

    def on_lingering(self, conn: Connection, client: object) -> None:
        try:
            over = conn.sock.recv_now() == b""
        except OSError:
            over = True
        if over:
            self._end_lingering(conn)

    def _end_lingering(self, conn: Connection) -> None:
        del self.lingering[conn]
        self._unwatch(conn)
        conn.close()

    def _watch(self, conn: Connection, act: Callable[[Connection, object], None]) -> None:
        self.poller.register(conn.sock, EVENT_READ, partial(act, conn))
        conn.watched = True

    def _unwatch(self, conn: Connection) -> None:
        if conn.watched:
            self.poller.unregister(conn.sock)
            conn.watched = False

    def murder_pending(self) -> None:
        """Checks deadlines. Gunicorn calls this at least once a second."""
        now = time.monotonic()
        if now < self.check_at:
            return
        self.check_at = now + CHECK_SECONDS
        for conn in [conn for conn in self.gathering if now > conn.deadline or (not self.alive and not conn.head)]:
            late = response("408 Request Timeout", "The request took too long to arrive.\n")
            self._drop(conn, late if conn.sock.held else b"")
        for conn in [conn for conn, until in self.lingering.items() if now > until]:
            self._end_lingering(conn)
