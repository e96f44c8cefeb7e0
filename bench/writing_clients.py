"""Simulated writers for ``bench.writers``: they send what a browser sends, at the speed at which people type."""

from __future__ import annotations

import asyncio
import html
import json
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from bench.load import Connection, fill

_FORM = re.compile(rb'name="form"[^>]*?value="([^"]+)"')
_EVENTS = re.compile(rb'data-events="([^"]+)"')
_STEP = re.compile(rb'id="waiting"[^>]*data-step="(\d+)"')
_SIDE = re.compile(rb'type="radio" name="pick" value="([^"]+)"')
_LINE = re.compile(rb'class="line" dir="auto">(.*?)</span>', re.DOTALL)
_PAUSES = re.compile(r"var PAUSES = \[(.*)\];")
_PAUSE = re.compile(r"\[(\d+), (\d+)\]")
SCRIPT = Path(__file__).resolve().parent.parent / "static" / "waiting.js"
#: A word of typing speed has five characters.
WORD = 5
#: Medians in seconds, log-normal with this spread: before a line, while choosing, from the last letter to the button.
THINK, CHOOSE, PRESS, SPREAD = 5.0, 8.0, 1.5, 0.5
#: The spread of speed between writers, and the share of suggestions that they add words to.
SPEEDS, EDITS = 0.25, 0.3
#: Seconds between two batches of edits, and from the last letter to the draft, as the page sends them.
BATCH, DRAFT = 1.0, 1.0
#: How long a writer waits for suggestions before the measurement fails.
GIVE_UP = 120.0

_WHO = ("The ferryman", "My grandmother", "The museum guard", "A boy in a raincoat", "The baker", "Nobody", "The dog")
_WHAT = ("found", "hid", "repaired", "counted", "remembered", "painted", "dreamed of", "gave away", "buried")
_THINGS = ("the spare keys", "a broken clock", "three letters", "the blue door", "an old map", "a lamp", "a shoe")
_WHERE = ("under the stairs", "behind the lighthouse", "in the empty school", "at the end of the pier", "by the river")
_WHEN = ("before the storm", "on a Monday", "while everyone slept", "without saying a word", "as the bells rang")
_MORE = (" It was late.", " And then it rained.", " She did not look back.", " Nobody knew why.")


@dataclass
class Wait:
    """One wait for suggestions, in seconds: from the press of the button until the line was saved, and from then until
    both suggestions were on the page."""

    saving: float
    waiting: float


@dataclass
class Writer:
    """One writer: what they will type, and what happened."""

    number: int
    lines: list[str]
    rng: random.Random
    letters_per_second: float
    turns: list[str] = field(default_factory=list)
    shown: list[list[str]] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    #: Where the writer works; its last part identifies the participant.
    path: str = ""
    error: str = ""

    def seconds(self, median: float) -> float:
        return median * self.rng.lognormvariate(0, SPREAD)


def make_writers(count: int, *, rounds: int, words_per_minute: float, seed: int) -> list[Writer]:
    """Every line is different, so that each can be found again."""
    used: set[str] = set()
    writers = []
    for number in range(count):
        rng = random.Random(f"{seed} {count} {number}")
        speed = words_per_minute * rng.lognormvariate(0, SPEEDS) * WORD / 60
        writers.append(Writer(number, [_new_line(rng, used) for _ in range(rounds)], rng, speed))
    return writers


def _new_line(rng: random.Random, used: set[str]) -> str:
    while True:
        line = f"{' '.join(rng.choice(part) for part in (_WHO, _WHAT, _THINGS, _WHERE, _WHEN))}."
        if line not in used:
            used.add(line)
            return line


def pauses() -> list[tuple[float, float]]:
    """How often a page asks whether its suggestions are there, from the page's own script: until how many seconds,
    and how many seconds apart."""
    found = _PAUSES.search(SCRIPT.read_text("utf-8"))
    steps = _PAUSE.findall(found[1]) if found else []
    assert steps, "waiting.js no longer says how often it asks"
    return [(int(until) / 1000, int(apart) / 1000) for until, apart in steps]


class Browser:
    """What a writer's browser does: pages, drafts, batches of edits, and the question whether suggestions are there."""

    def __init__(self, base: str, writer: Writer) -> None:
        parts = urlsplit(base)
        self.connection = Connection(parts.hostname or "", parts.port or 80)
        self.writer = writer
        self.pauses = pauses()
        self.polls = 0

    async def start(self, path: str) -> bytes:
        _, _, page = await self.connection.send("GET", path)
        form = fill(page, self.writer.rng) | {"agree": "yes"}
        status, location, _ = await self.connection.send("POST", path, urlencode(form).encode())
        if status != 303:
            raise RuntimeError(f"starting the study answered {status}")
        self.writer.path = location
        return await self.load()

    async def load(self) -> bytes:
        status, _, page = await self.connection.send("GET", self.writer.path)
        if status != 200:
            raise RuntimeError(f"the page answered {status}")
        return page

    async def send(self, page: bytes, answers: dict[str, str]) -> str:
        """Sends the page's form. Returns where it leads."""
        body = urlencode({"form": _form(page), "timing": "{}", **answers}).encode()
        status, location, _ = await self.connection.send("POST", self.writer.path, body)
        if status != 303:
            raise RuntimeError(f"the step answered {status}")
        return location

    async def with_suggestions(self) -> bytes:
        """The page that follows, as soon as it has its suggestions: asks as the page's script does."""
        page, began = await self.load(), time.monotonic()
        while found := _STEP.search(page):
            seconds = time.monotonic() - began
            if seconds > GIVE_UP:
                raise RuntimeError(f"no suggestions within {GIVE_UP:g} s")
            await asyncio.sleep(next(apart for until, apart in self.pauses if seconds < until))
            _, _, told = await self.connection.send("GET", f"{self.writer.path}offers?step={found[1].decode()}")
            self.polls += 1
            if json.loads(told)["reload"]:
                page = await self.load()
        return page

    async def type(self, page: bytes, text: str, *, before: str = "", answers: dict[str, str] | None = None) -> None:
        """Types ``text`` after ``before``, with the page's batches of edits; then the draft."""
        token, load = _EVENTS.search(page), f"{self.writer.rng.randrange(36**4):x}"
        edits: list[list[object]] = [["turn", 0, 0, 0, before, "start"]]
        began, at, number = time.monotonic(), len(before), 0
        per_batch = max(1, round(self.writer.letters_per_second * BATCH))
        for start in range(0, len(text), per_batch):
            letters = text[start : start + per_batch]
            await asyncio.sleep(len(letters) / self.writer.letters_per_second)
            now = round((time.monotonic() - began) * 1000)
            edits += [["turn", now, at + place, 0, letter, "type"] for place, letter in enumerate(letters)]
            at += len(letters)
            if token:
                sent = {"token": token[1].decode(), "load": load, "number": number, "edits": edits}
                await self.connection.send(
                    "POST", f"{self.writer.path}events", json.dumps(sent).encode(), "text/plain;charset=UTF-8"
                )
                edits, number = [], number + 1
        await asyncio.sleep(DRAFT)
        draft = {"form": _form(page), "timing": "{}", "turn": before + text, **(answers or {})}
        await self.connection.send("POST", f"{self.writer.path}draft", urlencode(draft).encode())


def _form(page: bytes) -> str:
    found = _FORM.search(page)
    if found is None:
        raise RuntimeError("the page has no form")
    return found[1].decode()


async def write_story(base: str, path: str, writer: Writer, *, after: float) -> None:
    """A whole story, from the start page to the last page's questions."""
    await asyncio.sleep(after)
    browser = Browser(base, writer)
    try:
        page = await browser.start(path)
        for line in writer.lines:
            page = await _write_line(browser, page, line)
            page = await _choose(browser, page)
        await asyncio.sleep(writer.seconds(CHOOSE))
        location = await browser.send(page, fill(page, writer.rng))
        if not location.endswith("/done"):
            raise RuntimeError(f"the last page led to {location}")
    except (OSError, RuntimeError, ValueError, asyncio.IncompleteReadError) as error:
        writer.error = f"writer {writer.number}: {type(error).__name__}: {error}"
    finally:
        browser.connection.close()


async def _write_line(browser: Browser, page: bytes, line: str) -> bytes:
    writer = browser.writer
    await asyncio.sleep(writer.seconds(THINK))
    await browser.type(page, line)
    await asyncio.sleep(max(0.0, writer.seconds(PRESS) - DRAFT))
    pressed = time.monotonic()
    await browser.send(page, {"turn": line})
    saved = time.monotonic()
    page = await browser.with_suggestions()
    writer.waits.append(Wait(saved - pressed, time.monotonic() - saved))
    writer.turns.append(line)
    return page


async def _choose(browser: Browser, page: bytes) -> bytes:
    """Takes one of the suggestions, sometimes with more words. Without any, writes the line alone."""
    writer = browser.writer
    texts = [html.unescape(text.decode()) for text in _LINE.findall(page)]
    sides = [side.decode() for side in _SIDE.findall(page)]
    writer.shown.append(texts)
    await asyncio.sleep(writer.seconds(CHOOSE))
    if not texts:
        answers = {"turn": f"Nobody suggested line {len(writer.turns) + 1} to writer {writer.number}."}
    else:
        at = writer.rng.randrange(len(texts))
        answers = {"pick": sides[at], "pick_history": sides[at], "turn": texts[at]}
        more = writer.rng.choice(_MORE)
        if writer.rng.random() < EDITS and len(texts[at]) + len(more) <= 260:
            await browser.type(page, more, before=texts[at], answers=answers)
            answers["turn"] += more
    await browser.send(page, answers)
    writer.turns.append(answers["turn"])
    return await browser.load()


async def write_at_once(base: str, path: str, writers: Sequence[Writer], *, arrive: float) -> None:
    """All of them, each beginning at a random moment of the first ``arrive`` seconds."""
    latest = arrive if len(writers) > 1 else 0
    await asyncio.gather(*(write_story(base, path, each, after=each.rng.uniform(0, latest)) for each in writers))
