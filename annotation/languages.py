"""The languages of workers' pages (`common.languages`), and the texts of their scripts.

A page or a service calls `speak` as soon as it knows the study; `workers_page` ends that with the request.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
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

#: The scripts of all workers' pages, and how they name a text: t("…") or tn("…", "…", count).
SCRIPTS = ("work.js", "questions.js", "keys.js", "waiting.js", "pull.js")
#: Where those of single kinds of questions and task types are.
OWN_SCRIPTS = "annotation/task_types/**/static/**/*.js"


def script_words(own: Sequence[str] = ()) -> SafeString:
    """The texts of workers' scripts in the language of this request, as an element of the page; empty in English.
    ``own``: the page's scripts that not all pages have."""
    return languages.script_words((*SCRIPTS, *own))


def script_texts() -> list[tuple[bool, str, str]]:
    """Every text in workers' scripts: whether it has plural forms, in the singular, and in the plural."""
    paths = sorted(settings.BASE_DIR.glob(OWN_SCRIPTS))
    own = [str(path).rpartition("/static/")[2] for path in paths]
    return languages.script_texts((*SCRIPTS, *own))
