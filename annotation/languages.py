"""The languages of workers' pages (`common.languages`), and the texts of their scripts.

A page or a service calls `speak` as soon as it knows the study; `workers_page` ends that with the request.
"""

from __future__ import annotations

import re
from functools import lru_cache

from django.conf import settings
from django.utils.html import json_script
from django.utils.safestring import SafeString

from common.languages import (
    CATALOGUES,
    CHOICES,
    ENGLISH,
    LANGUAGES,
    Language,
    gettext,
    marked,
    minutes,
    moment,
    money,
    ngettext,
    number,
    preferred,
    speak,
    speaking,
    spoken,
    spoken_code,
    stop_speaking,
)

__all__ = [
    "CATALOGUES",
    "CHOICES",
    "ENGLISH",
    "LANGUAGES",
    "Language",
    "gettext",
    "marked",
    "minutes",
    "moment",
    "money",
    "ngettext",
    "number",
    "preferred",
    "script_texts",
    "script_words",
    "speak",
    "speaking",
    "spoken",
    "spoken_code",
    "stop_speaking",
]

#: The scripts of workers' pages, and how they name a text: t("…") or tn("…", "…", count).
SCRIPTS = ("work.js", "questions.js", "keys.js", "waiting.js", "pull.js")
_CALL = re.compile(r'\bt(n?)\("([^"]*)"(?:, "([^"]*)")?')


def script_words() -> SafeString:
    """The texts of workers' scripts in the language of this request, as an element of the page; empty in English."""
    language = spoken()
    return SafeString() if language.code == ENGLISH else _script_words(language.code)


@lru_cache(maxsize=64)
def _script_words(code: str) -> SafeString:
    counts = range(200)
    texts: dict[str, str | list[str]] = {}
    plural: list[int] = []
    for has_forms, one, several in script_texts():
        if not has_forms:
            texts[one] = gettext(one)
            continue
        forms = list(dict.fromkeys(ngettext(one, several, count) for count in counts))
        texts[f"{one}\n{several}"] = forms
        plural = plural or [forms.index(ngettext(one, several, count)) for count in counts]
    return json_script({"texts": texts, "plural": plural}, "words")


def script_texts() -> list[tuple[bool, str, str]]:
    """Every text in workers' scripts: whether it has plural forms, in the singular, and in the plural."""
    calls = []
    for name in SCRIPTS:
        script = (settings.BASE_DIR / "static" / name).read_text(encoding="utf-8")
        calls += [(bool(n), one, several) for n, one, several in _CALL.findall(script)]
    return calls
