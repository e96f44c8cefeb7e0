"""Clicks and keys for a judgement with error spans (ESA): ``python -m bench.marking_actions [--pearmut PROGRAM]``.

Chromium does one and the same judgement of the documents in ``examples/presets``, with a mouse alone and without a
wasted movement, in the preset ``esa``, in variants of it, and in Pearmut's protocol ESA. What
counts is what the browser reports as pressed: buttons of the mouse and keys, from the first text to the last one that
is sent. Scrolling does not count. PROGRAM is the command ``pearmut`` in an environment of its own, which nothing else
needs: without it, only this project is counted.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml
from playwright.sync_api import Locator, Page, sync_playwright

from tests.browser.conftest import ARGS, WIDE
from tests.services import free_port
from tests.support import Server, running_server

PRESETS = Path(__file__).resolve().parent.parent / "examples" / "presets"
MISSING = ""
#: By text: the first and the last word of each error and how bad it is, then the score. Other texts have none, and 95.
ERRORS: Mapping[str, tuple[Sequence[tuple[str, str]], int]] = {
    "The owl has waited, until the rain stops.": ([("has waited", "minor"), ("stops", "major")], 60),
    "Then flew she over the port.": ([("flew she", "minor"), ("port", "minor")], 70),
    "No one.": ([(MISSING, "major")], 30),
    "Tomorrow no train drives to mountains.": ([("drives", "minor"), ("mountains", "major")], 40),
}
FAULTLESS: tuple[Sequence[tuple[str, str]], int] = ([], 95)
#: The stored marks, by study.
MARKS = """SELECT study.slug, rating.text FROM annotation_rating AS rating
    JOIN annotation_submission AS submission ON rating.submission_id = submission.id
    JOIN annotation_assignment AS assignment ON submission.assignment_id = assignment.id
    JOIN annotation_hit AS hit ON assignment.hit_id = hit.id JOIN annotation_study AS study ON hit.study_id = study.id
    WHERE rating.question = 'errors'"""
#: What counts as pressed, told to the binding ``pressed``.
LISTEN = """for (const kind of ["pointerdown", "keydown"])
    document.addEventListener(kind, event => { if (event.isTrusted) window.pressed(kind); }, true);"""


@dataclass
class Tally:
    """What was pressed, by what for."""

    by_purpose: Counter[str] = field(default_factory=Counter)
    purpose: str = ""

    def press(self, kind: str) -> None:
        if self.purpose:
            self.by_purpose[self.purpose + ("" if kind == "pointerdown" else " (key)")] += 1

    def click(self, purpose: str, place: Locator, *, at: float | None = None) -> None:
        """Presses the middle of the place, or so far from its beginning."""
        self.purpose = purpose
        box = place.bounding_box()
        if at is None or box is None:
            place.click()
        else:
            place.click(position={"x": box["width"] * at, "y": box["height"] / 2})
        self.purpose = ""

    def line(self, title: str, judgements: int) -> str:
        parts = ", ".join(f"{purpose} {count}" for purpose, count in self.by_purpose.most_common())
        return f"{title:<26}{self.by_purpose.total() / judgements:>6.2f} for a segment   {parts}"


def segments() -> list[dict[str, str]]:
    with (PRESETS / "documents.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def counted_page(browser: Any, tally: Tally) -> Page:
    context = browser.new_context(viewport=WIDE)
    context.expose_function("pressed", tally.press)
    context.add_init_script(LISTEN)
    page: Page = context.new_page()
    return page


def as_shipped(study: dict[str, Any]) -> None:
    """The preset: a document on one page, and in one task; no marks means no errors."""


def several_documents(study: dict[str, Any]) -> None:
    study["items_per_hit"] = len({row["document"] for row in segments()})


def pages_of_segments(study: dict[str, Any]) -> None:
    study["config"]["pages"] = "part"


def box_for_nothing(study: dict[str, Any]) -> None:
    study["config"]["questions"][0]["blank_is_none"] = False


#: What is changed in the preset.
VARIANTS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "preset esa": as_shipped,
    "with items per hit 4": several_documents,
    "with pages part": pages_of_segments,
    "with blank is none off": box_for_nothing,
}


# --- this project -----------------------------------------------------------------------------------------------


def mark_here(tally: Tally, question: Locator, words: str, severity: str) -> None:
    """One word needs one click; more need the first and the last."""
    if words == MISSING:
        tally.click("mark", question.get_by_role("button", name="Something is missing"))
    else:
        for word in (words.split()[0], words.split()[-1])[: len(words.split())]:
            tally.click("mark", question.locator("[data-text]").get_by_text(word, exact=True))
    tally.click("severity", question.locator(f"[data-severity={severity}]"))


def judge_page(tally: Tally, page: Page) -> int:
    """Answers every segment on the page and sends it. Returns how many there were."""
    marked, scored = page.locator("[data-kind=spans]"), page.locator("[data-kind=slider]")
    for at in range(marked.count()):
        question = marked.nth(at)
        errors, score = ERRORS.get(question.locator("[data-text]").inner_text().strip(), FAULTLESS)
        for words, severity in errors:
            mark_here(tally, question, words, severity)
        if not errors and question.get_attribute("data-required") is not None:
            tally.click("nothing wrong", question.locator("[data-none]"))
        tally.click("score", scored.nth(at).locator("input[type=range]"), at=score / 100)
    count = marked.count()
    with page.expect_navigation():
        tally.click("go on", page.locator(".send button").first)
    return count


def judge_here(server: Server, browser: Any, title: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Counts in the preset after ``change``."""
    study = yaml.safe_load((PRESETS / "esa.yaml").read_text("utf-8"))
    change(study)
    slug = re.sub(r"\W+", "-", title)
    study |= {"slug": slug, "items": str(PRESETS / "documents.csv")}
    file = server.var / f"{slug}.yaml"
    file.write_text(yaml.safe_dump(study), "utf-8")
    server.manage("study", "apply", str(file))
    server.manage("study", "publish", slug)
    tally = Tally()
    page = counted_page(browser, tally)
    page.goto(f"{server.base_url}/s/{slug}/")
    with page.expect_navigation():
        page.get_by_role("button", name="Start").click()
    judged = 0
    while judged < len(segments()):
        while page.locator("[data-kind=spans]").count():
            judged += judge_page(tally, page)
        if judged < len(segments()):
            with page.expect_navigation():
                tally.click("next document", page.locator("[data-next]"))
    stored = [json.loads(text or "[]") for study_slug, text in server.ask(MARKS) if study_slug == slug]
    report(tally, title, sum(len(marks) for marks in stored))


def report(tally: Tally, title: str, marks: int) -> None:
    expected = sum(len(ERRORS.get(one["translation"], FAULTLESS)[0]) for one in segments())
    if marks != expected:
        raise SystemExit(f"{title}: {marks} marks were stored, not {expected}")
    print(tally.line(title, len(segments())), flush=True)


# --- Pearmut ----------------------------------------------------------------------------------------------------


@contextmanager
def pearmut(program: Path, folder: Path) -> Iterator[str]:
    """The address of a campaign with the same documents, for one person."""
    documents: dict[str, list[dict[str, Any]]] = {}
    for row in segments():
        target = {row["system"]: row["translation"]}
        segment = {"src": row["source"], "tgt": target, "item_id": row["sample_id"]}
        documents.setdefault(row["document"], []).append(segment)
    campaign = {
        "info": {"assignment": "task-based", "protocol": "ESA"},
        "campaign_id": "marking",
        "data": [list(documents.values())],
    }
    (folder / "campaign.json").write_text(json.dumps(campaign), "utf-8")
    added = subprocess.run(
        [program, "add", "campaign.json"], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    path = re.search(r"/annotate\?\S+", added.stdout)
    if path is None:
        raise SystemExit(f"pearmut add: {added.stdout}{added.stderr}")
    port = free_port()
    process = subprocess.Popen([program, "run", "--port", str(port)], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}{path[0]}"
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_for(address: str) -> None:
    for _ in range(100):
        try:
            urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"{address} does not answer")


def mark_there(tally: Tally, page: Page, block: Locator, words: str, severity: str) -> None:
    """A place needs its first and its last character; then the buttons beside it."""
    if words == MISSING:
        tally.click("mark", block.locator(".special_token"))
    else:
        text = block.locator(".output_tgt").inner_text()
        start = text.index(words)
        for at in (start, start + len(words) - 1):
            tally.click("mark", block.locator(f".tgt_char[data-i='{at}']"))
    tally.click("severity", page.locator(".span_toolbox_parent:visible").last.locator(f".error_{severity}"))
    page.mouse.move(5, 5)
    page.wait_for_timeout(700)  # until the buttons are out of the way


def judge_there(program: Path, browser: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="pearmut-") as name:
        folder = Path(name)
        tally = Tally()
        with pearmut(program, folder) as address:
            page = counted_page(browser, tally)
            page.goto(address)
            judged = 0
            while judged < len(segments()):
                page.locator(".output_block").first.wait_for()
                blocks = page.locator(".output_block")
                first = blocks.first.inner_text()
                for block in (blocks.nth(at) for at in range(blocks.count())):
                    shown = block.locator(".output_tgt").inner_text().removesuffix("[missing]").strip()
                    errors, score = ERRORS.get(shown, FAULTLESS)
                    for words, severity in errors:
                        mark_there(tally, page, block, words, severity)
                    tally.click("score", block.locator("input[type=range]"), at=score / 100)
                judged += blocks.count()
                tally.click("go on", page.locator("#button_next"))
                page.wait_for_function(
                    "first => { const block = document.querySelector('.output_block');"
                    " return !block || block.innerText !== first; }",
                    arg=first,
                )
        lines = [line for file in folder.rglob("annotations/*") for line in file.read_text("utf-8").splitlines()]
        answers = [one for line in lines for one in json.loads(line)["annotation"]]
        report(tally, "Pearmut", sum(len(each["error_spans"]) for one in answers for each in one.values()))


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pearmut", type=Path, metavar="PROGRAM", help="the command pearmut, for the same counts")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    arguments = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="hitserver-marking-") as folder,
        running_server(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=ARGS)
        for title, change in VARIANTS.items():
            judge_here(server, browser, title, change)
        if arguments.pearmut:
            judge_there(arguments.pearmut.resolve(), browser)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
