"""The folder as a queue: nothing lost, nothing twice, nothing half written."""

import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path
from queue import Empty

import pytest
from kombu.connection import Connection

from hitserver.broker import Channel, Transport

MESSAGES = 200


def connect(folder: Path) -> Connection:
    return Connection("localhost", transport=Transport, transport_options={"folder": str(folder)})


def channel_of(folder: Path) -> Channel:
    channel: Channel = connect(folder).channel()
    return channel


def put(channel: Channel, body: str, queue: str = "q") -> None:
    channel._put(queue, {"body": body, "properties": {"delivery_tag": body, "delivery_info": {}}})


def files(folder: Path, part: str) -> list[Path]:
    return sorted((folder / part).rglob("*.msg"))


def test_messages_come_in_the_order_they_were_put(tmp_path: Path) -> None:
    channel = channel_of(tmp_path)
    for body in "abc":
        put(channel, body)

    assert [channel._get("q")["body"] for _ in range(3)] == ["a", "b", "c"]
    with pytest.raises(Empty):
        channel._get("q")


def test_a_queue_gives_only_its_own(tmp_path: Path) -> None:
    channel = channel_of(tmp_path)
    put(channel, "a", queue="default")

    with pytest.raises(Empty):
        channel._get("ault")
    assert channel._size("default") == 1


def test_a_message_that_was_taken_stays_on_disk_until_it_is_acknowledged(tmp_path: Path) -> None:
    channel = channel_of(tmp_path)
    put(channel, "a")
    message = channel.message_to_python(channel._get("q"))
    channel.qos.append(message, message.delivery_tag)
    assert (len(files(tmp_path, "queue")), len(files(tmp_path, "taken"))) == (0, 1)

    message.ack()

    assert (len(files(tmp_path, "queue")), len(files(tmp_path, "taken"))) == (0, 0)


def test_requests_of_a_living_process_are_left_to_it(tmp_path: Path) -> None:
    first, second = channel_of(tmp_path), channel_of(tmp_path)
    put(first, "a")
    first._get("q")

    second.recover()

    with pytest.raises(Empty):
        second._get("q")


def test_requests_of_a_dead_process_go_back(tmp_path: Path) -> None:
    put(channel_of(tmp_path), "a")
    taker = multiprocessing.get_context("spawn").Process(target=_die_with_message, args=(tmp_path,))
    taker.start()
    taker.join()
    assert (len(files(tmp_path, "queue")), len(files(tmp_path, "taken"))) == (0, 1)

    assert channel_of(tmp_path)._get("q")["body"] == "a"


def _die_with_message(folder: Path) -> None:
    channel = channel_of(folder)
    channel._get("q")
    os.kill(os.getpid(), signal.SIGKILL)


def _take_all(folder: Path, taken: "multiprocessing.Queue[list[str]]") -> None:
    channel, mine = channel_of(folder), []
    empty = 0
    while empty < 20:
        try:
            payload = channel._get("q")
        except Empty:
            empty += 1
            continue
        mine.append(payload["body"])
        channel.forget(payload["properties"]["delivery_tag"])
    taken.put(mine)


def test_many_workers_get_each_message_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    taken: multiprocessing.Queue[list[str]] = context.Queue()
    takers = [context.Process(target=_take_all, args=(tmp_path, taken)) for _ in range(3)]
    channel = channel_of(tmp_path)
    for number in range(MESSAGES):
        put(channel, str(number))
    for taker in takers:
        taker.start()
    counts = Counter(body for _ in takers for body in taken.get(timeout=60))
    for taker in takers:
        taker.join()

    assert counts == {str(number): 1 for number in range(MESSAGES)}
    assert files(tmp_path, "") == []


def test_a_message_is_never_seen_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = channel_of(tmp_path)

    def full(path: Path, text: str) -> int:
        path.open("w").write(text[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        put(channel, "a" * 100)
    monkeypatch.undo()

    with pytest.raises(Empty):
        channel._get("q")


def _bind(folder: Path, name: str) -> None:
    channel = channel_of(folder)
    for number in range(50):
        channel._queue_bind("tasks", f"{name}-{number}", "", f"{name}-{number}")


def test_queues_bound_at_once_are_all_known(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    binders = [context.Process(target=_bind, args=(tmp_path, name)) for name in "abc"]
    for binder in binders:
        binder.start()
    for binder in binders:
        binder.join()

    table = channel_of(tmp_path).get_table("tasks")
    assert len(table) == len(set(table)) == 150
