"""The texts of the interface that workers of a task type meet, and a study's own wording of them.

The texts come from ``locale/workers.pot``, which lists every one with the files that it is in. A study names a text by
its English words and gives its own, in the language of its pages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from annotation.languages import CATALOGUES
from annotation.task_types.base import TaskType
from annotation.task_types.questions import one_line
from common.languages import marks_in
from common.problems import Problem, unknown

TEMPLATE = CATALOGUES / "workers.pot"
TYPES = "annotation/task_types/"
#: Folders whose texts belong to the questions of every type.
KINDS = f"{TYPES}kinds/"
#: Files of pages that belong to no study.
ELSEWHERE = ("marketplace/", "static/marketplace.js", "accounts/", "common/brake.py", "templates/4", "templates/5")
#: A wording may be this much longer than the English text.
MOST_TIMES, MOST_MORE = 3, 100
_TAG = re.compile(r"<[^>]*>")
#: By the beginning of a file's name: on which pages its texts are. The first that fits counts.
PLACES = (
    (KINDS, "Questions"),
    ("templates/annotation/questions/", "Questions"),
    ("annotation/templatetags/questions", "Questions"),
    ("static/questions", "Questions"),
    (TYPES, "This task type"),
    ("annotation/work/pages/templates/work/start", "Start and consent"),
    ("annotation/work/pages/start", "Start and consent"),
    ("annotation/work/pages/terms", "Start and consent"),
    ("annotation/work/pages/offers", "Suggestions"),
    ("templates/annotation/_pull", "Suggestions"),
    ("templates/annotation/_waiting", "Suggestions"),
    ("static/pull", "Suggestions"),
    ("static/waiting", "Suggestions"),
    ("annotation/work/pages/done", "End of a task"),
    ("annotation/work/pages/templates/work/done", "End of a task"),
    ("annotation/work/pages/stop", "End of a task"),
    ("templates/annotation/", "Pages of a task"),
    ("annotation/work/", "Pages of a task"),
    ("static/", "Pages of a task"),
    ("annotation/people/", "What is recorded about a worker"),
    ("annotation/recruiting/", "Pages inside a platform"),
    ("annotation/platforms/", "Pages inside a platform"),
)
OTHER = "Numbers, times and other messages"
#: The order in which workers come to these pages.
IN_ORDER = (
    *("Start and consent", "Pages of a task", "Questions", "This task type", "Suggestions", "End of a task"),
    *("What is recorded about a worker", "Pages inside a platform", OTHER),
)


@dataclass(frozen=True, slots=True)
class InterfaceText:
    """One text. ``several``: its plural, for a text that depends on a number. ``files``: where it is."""

    source: str
    several: str
    files: tuple[str, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """What a study words: the text, or its singular and its plural."""
        return (self.source, self.several) if self.several and self.several != self.source else (self.source,)

    @property
    def place(self) -> str:
        """The pages that it is on."""
        return next((title for start, title in PLACES for name in self.files if name.startswith(start)), OTHER)


def texts_of(task: TaskType) -> list[InterfaceText]:
    """The texts that workers of this type can meet, in the order of the catalogue."""
    own = f"{TYPES}{type(task).__module__.split('.')[2]}/"
    return [text for text in _all_texts() if any(_belongs(name, own) for name in text.files)]


def _belongs(name: str, own: str) -> bool:
    if name.startswith(ELSEWHERE):
        return False
    return not (name.startswith(TYPES) and "/" in name[len(TYPES) :]) or name.startswith((KINDS, own))


@lru_cache(maxsize=1)
def _all_texts() -> tuple[InterfaceText, ...]:
    """The entries of the template of catalogues."""
    texts = []
    for entry in TEMPLATE.read_text(encoding="utf-8").split("\n\n"):
        files: list[str] = []
        ids = {"msgid": "", "msgid_plural": ""}
        key = ""
        for line in entry.splitlines():
            if line.startswith("#: "):
                files += line[3:].split()
            elif line.startswith("msg"):
                key, _space, quoted = line.partition(" ")
                if key in ids:
                    ids[key] = ast.literal_eval(quoted)
            elif line.startswith('"') and key in ids:
                ids[key] += ast.literal_eval(line)
        if ids["msgid"]:
            texts.append(InterfaceText(ids["msgid"], ids["msgid_plural"], tuple(files)))
    return tuple(texts)


def check_interface(*, task: TaskType, interface: Mapping[str, object]) -> tuple[dict[str, str], list[Problem]]:
    """A study's own wording of the interface by the English text, without empty ones, and what is wrong with it."""
    known = {source: text for text in texts_of(task) for source in text.sources}
    clean: dict[str, str] = {}
    problems: list[Problem] = []
    for source, typed in interface.items():
        where = f"interface.{source}"
        if source not in known:
            problems.append(unknown(where, source, known))
        elif not isinstance(typed, str):
            problems.append(Problem(where, f"This is {type(typed).__name__}, not text.", "Write text."))
        elif (wording := one_line(typed)) and wording != source:
            problems += [Problem(where, what, fix) for what, fix in _faults(known[source], source, wording)]
            clean[source] = wording
    return clean, problems


def _faults(text: InterfaceText, source: str, wording: str) -> Iterator[tuple[str, str]]:
    """What would break a page: placeholders, tags, and signs that end an attribute or begin a placeholder."""
    needed, allowed = marks_in(source), marks_in(text.source) | marks_in(text.several)
    own = marks_in(wording)
    # A singular may say its number in words.
    if text.several and source == text.source:
        needed = set()
    if missing := sorted(needed - own):
        yield f"The wording lacks {', '.join(missing)}.", "Put it where the value or the tag belongs."
    if strange := sorted(own - allowed):
        yield f"The text has no {', '.join(strange)}.", f"Use {', '.join(sorted(allowed)) or 'plain words'}."
    if sorted(_TAG.findall(wording)) != sorted(_TAG.findall(source)) or set("<>") & set(_TAG.sub("", wording)):
        yield "The tags of the wording are not those of the text.", "Keep the text's tags, and add none."
    if '"' in _TAG.sub("", wording):
        yield "The wording has straight quotation marks.", "Use those of your language, such as “ and ”."
    rest = re.sub(r"%\(\w+\)s|%%", "", wording)
    if "%(" in source and "%" in rest:
        yield "The wording has a percent sign that begins no placeholder.", "Write it twice: %%."
    if "{" in source and set("{}") & set(re.sub(r"\{\w+\}", "", wording)):
        yield "The wording has braces that are no placeholder.", "Remove them."
    if len(wording) > (most := MOST_TIMES * len(source) + MOST_MORE):
        yield f"The wording has {len(wording):,} characters.", f"Shorten it to {most:,}: pages have little room."
