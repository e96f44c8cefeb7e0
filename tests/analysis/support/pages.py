"""Reports for tests to read: the page as a parser sees it, and the numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from analysis.data import StudyData
from analysis.report import write_report


def built(data: StudyData, folder: Path, *, draws: int = 50, seed: int = 1) -> tuple[str, dict[str, Any]]:
    """The page, and the sections of the numbers."""
    page = write_report(data, out_dir=folder, draws=draws, seed=seed)
    numbers = json.loads((folder / "report.json").read_text())
    return page.read_text(), numbers["sections"]


class Page(HTMLParser):
    """Checks nesting and ids while it reads; collects cells of numbers."""

    VOID = ("meta", "br", "hr", "img", "input", "link", "circle", "line", "rect", "path")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.files: dict[str, str] = {}
        self.tags: set[str] = set()
        self.numbers: list[str] = []
        self.in_number = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "srcset", "action") for name in told), (tag, told)
        self.ids += [told["id"]] if "id" in told else []
        if "download" in told:
            self.files[told["download"]] = told["href"]
        elif "href" in told:
            self.links.append(told["href"])
        self.in_number = tag == "td" and told.get("class") == "number"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.in_number and data.strip():
            self.numbers += re.findall(r"−?\d[\d,]*(?:\.\d+)?", data)
            self.in_number = False


def is_sound(text: str) -> Page:
    """Asserts that elements are closed, ids and links match, and the page needs no other file and runs no script."""
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert all(file.startswith("data:image/svg+xml;base64,") for file in page.files.values())
    assert not page.tags & {"script", "link", "iframe", "object", "embed", "img", "form", "base"}
    assert not re.search(r"\b(nan|NaN|None|inf)\b", re.sub(r'"data:[^"]*"', "", text))
    return page


def all_numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from all_numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from all_numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, str):
        yield from (float(token.replace(",", "")) for token in re.findall(r"\d[\d,]*(?:\.\d+)?", value))


def unknown_numbers(page: Page, sections: dict[str, Any]) -> list[str]:
    """Numbers in the page's tables that the JSON does not have."""
    known = {"0.0001", "0.9999"}  # p beyond these is printed as “< 0.0001” and “> 0.9999”
    for number in all_numbers(sections):
        known |= {f"{abs(number):,.{digits}f}" for digits in range(5)}
    return [token for token in page.numbers if token.lstrip("−") not in known]
