"""The worst words and phrases that read as translated, in everything that people read. docs/style.md has the rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.services import ROOT

APPS = ("common", "analysis", "generation", "annotation", "marketplace", "hitserver")
#: Phrases that nobody says, with what to write instead.
FORBIDDEN = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bhow-manieth\b": "which, or how many times",
    r"\bstands? here\b": "is here",
    r"\bcan no longer change\b": "locked",
    r"\bin a tab of (its|their) own\b": "in a new tab",
    r"\bas said below\b": "as described below",
    r"\bthat are not there\b": "missing",
    r"\bgo(es)? on to\b": "continue to",
    r"\bput to one set of\b": "used with one set of",
    r"\b(item|rating|hit|worker|submission)\(s\)": "1 item, 2 items: common.words.counted",
    r"\b1 (items|ratings|hits|workers|submissions|minutes|hours|rows|problems|samples|participants)\b": "1 item",
    r"\bhow far (?:do )?(?:you|people) (?:do )?agree\b": "how much … agree",
    r"\b(each|every) two (?!seconds\b)": "every pair of",
    r"\bcommonest\b": "most frequent",
    r"\bpool steps in\b": "a prepared text is used",
    r"\bmust be kept by law\b": "bookkeeping records",
    r"\bnumber of draws\b": "attempts",
    r"\bmost (labels|levels)\b": "maximum number of, or how many … are allowed",
}
#: What docstrings may say of code, and pages must not say to people.
FORBIDDEN_ON_PAGES = {
    r"\b(is|are|was|were|be|been) told (by|how)\b": "people tell; a page shows, a setting decides",
    r"\bwhat it takes\b": "cost and workload, or what you need",
    r"\bper worker at most\b": "maximum … per worker",
    r"\btold apart\b": "prevent repeat participation, or recognise",
    r"\breload this page soon\b": "the page refreshes by itself, or say when",
    r"\bthis (HIT|\{task\}|task) is for somebody else\b": "please return it",
}
#: Money is written $0.18 by `common.words.money`, the filter ``usd``. The marketplace words its errors as Amazon does.
MONEY = re.compile(r"(\}|\d) USD\b")
OTHER_MONEY = ("marketplace/", "docs/marketplace")
ANYWHERE = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in FORBIDDEN.items()]
ON_PAGES = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in FORBIDDEN_ON_PAGES.items()]
#: Lines that name a phrase to say that nobody should write it.
ABOUT_STYLE = {"docs/style.md"}
JS_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def pages() -> Iterator[tuple[str, str]]:
    """Templates, scripts and documentation as they are."""
    for pattern in ("templates/**/*.html", "*/**/templates/**/*.html", "static/*.js", "docs/*.md", "*.md"):
        for path in sorted(ROOT.glob(pattern)):
            if "node_modules" not in path.parts and ".venv" not in path.parts:
                text = path.read_text("utf-8")
                yield str(path.relative_to(ROOT)), JS_COMMENT.sub("", text) if path.suffix == ".js" else text


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string of a module, docstrings among them. What an f-string inserts is ``{}``."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            inside |= {id(part) for part in node.values}
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def found_in(text: str, *, name: str = "", page: bool = False) -> list[str]:
    patterns = ANYWHERE + (ON_PAGES if page else [])
    found = [f"“{match[0]}”: {instead}" for pattern, instead in patterns for match in pattern.finditer(text)]
    if not name.startswith(OTHER_MONEY):
        found += [f"“{match[0]}”: $0.18" for match in MONEY.finditer(text)]
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Mend the file as said below",
        "In a tab of its own",
        "What it takes",
        "Hits per worker at most",
        "{{ reward }} USD",
        "1 ratings took longer",
        "item(s)",
    ],
)
def test_the_list_catches_what_it_is_made_for(text: str) -> None:
    assert found_in(text, page=True)


def on_page(name: str, text: str) -> list[str]:
    return found_in(text, name=name, page=not name.endswith(".js"))


def test_pages_and_documentation_are_plain_english() -> None:
    read = {name: text for name, text in pages() if name not in ABOUT_STYLE}
    assert len(read) > 100
    assert {f"{name}: {each}" for name, text in read.items() for each in on_page(name, text)} == set()


def test_strings_of_the_code_are_plain_english() -> None:
    found = set()
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            name = str(path.relative_to(ROOT))
            for line, text in strings(ast.parse(path.read_text("utf-8"))):
                found |= {f"{name}:{line}: {each}" for each in found_in(text, name=name)}
    assert found == set()


# --- numbers in sentences ---

#: What is counted most. A number that stands directly before one of these is wrong when it is 1.
THINGS = r"(items|ratings|hits|workers|submissions|minutes|hours|problems|samples|participants|links)"
BARE_IN_PAGE = re.compile(r"\}\} " + THINGS + r"\b")
#: Where the plural forms come from the catalogue of the page's language.
PLURAL_IN_PAGE = re.compile(r"\{% blocktranslate count .*?\{% endblocktranslate %\}", re.DOTALL)
BARE_IN_STRING = re.compile(r"(?<!of )\{\} " + THINGS + r"\b")
#: Numbers that are never 1, with the reason.
NEVER_ONE = {
    "annotation/studies/importing_items.py": "names an id that several items have",
    "annotation/studies/launching.py": "names limits",
    "annotation/work/bots.py": "an error of the server, for developers",
}


def test_plurals_of_the_console_and_the_command_line_come_from_one_function() -> None:
    """`counted` and the filter `count_of` write 1 item; a number before a plural does not."""
    found = set()
    for name, text in pages():
        if name.startswith(("templates/console", "annotation")):
            bare = BARE_IN_PAGE.finditer(PLURAL_IN_PAGE.sub("", text))
            found |= {f"{name}: {match[0]}" for match in bare}
    for app in ("annotation", "hitserver", "common"):
        for path in sorted((ROOT / app).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name in NEVER_ONE or "migrations" in path.parts:
                continue
            for line, text in strings(ast.parse(path.read_text("utf-8"))):
                found |= {f"{name}:{line}: {match[0]}" for match in BARE_IN_STRING.finditer(text)}
    assert found == set()
