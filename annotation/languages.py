"""The languages of workers' pages (`common.languages`), and the texts of their scripts.

A page or a service calls `speak` as soon as it knows the study; `workers_page` ends that with the request.
"""

from __future__ import annotations

from pathlib import Path

from django.utils.safestring import SafeString

from common import languages
from common.languages import (
    CATALOGUES,
    CHOICES,
    ENGLISH,
    LANGUAGES,
    Language,
    Voice,
    gettext,
    item_language,
    marked,
    minutes,
    moment,
    money,
    nearest,
    ngettext,
    number,
    preferred,
    speak,
    speaking,
    spoken,
    spoken_code,
    spoken_key,
    stop_speaking,
    voice,
)

__all__ = [
    "CATALOGUES",
    "CHOICES",
    "ENGLISH",
    "LANGUAGES",
    "Language",
    "Voice",
    "gettext",
    "item_language",
    "marked",
    "minutes",
    "moment",
    "money",
    "nearest",
    "ngettext",
    "number",
    "preferred",
    "script_texts",
    "script_words",
    "speak",
    "speaking",
    "spoken",
    "spoken_code",
    "spoken_key",
    "stop_speaking",
    "voice",
]

ROOT = Path(__file__).resolve().parent.parent
#: The scripts of workers' pages, with those of kinds. They name a text t("…") or tn("…", "…", count).
SCRIPTS = (
    *(f"static/{name}.js" for name in ("work", "questions", "keys", "waiting", "pull")),
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("annotation/task_types/kinds/*/static/*.js")),
)


def script_words() -> SafeString:
    """The texts of workers' scripts in the language of this request, as an element of the page; empty in English."""
    return languages.script_words(SCRIPTS)


def script_texts() -> list[tuple[bool, str, str]]:
    """Every text in workers' scripts: whether it has plural forms, in the singular, and in the plural."""
    return languages.script_texts(SCRIPTS)
