"""The languages of workers' pages: which there are, the one of this request, and numbers, money and dates in it.

A page or a service calls `speak` as soon as it knows the language; `stop_speaking` ends that with the request.
"""

from __future__ import annotations

import json
import re
from calendar import month_name
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from django.contrib.staticfiles import finders
from django.utils.dateformat import DateFormat
from django.utils.formats import get_format
from django.utils.html import json_script
from django.utils.safestring import SafeString
from django.utils.translation import to_locale
from django.utils.translation.trans_real import DjangoTranslation, translation

from common.words import moment_in_utc
from common.words import money as us_money

ENGLISH = "en"
CATALOGUES = Path(__file__).resolve().parent.parent / "locale"


@dataclass(frozen=True, slots=True)
class Language:
    """``own_name`` is what its speakers call it, ``tag`` is for HTML; ``group`` and ``point`` separate thousands and
    decimals."""

    code: str
    name: str
    own_name: str
    group: str = ","
    point: str = "."
    rtl: bool = False
    tag: str = ""

    @property
    def html(self) -> str:
        return self.tag or self.code

    @property
    def latin(self) -> bool:
        """Whether it is written in letters that every font of a page has: Latin, Greek or Cyrillic ones."""
        return self.code not in ("ar", "he", "hi", "zh-hans", "zh-hant", "ja", "ko")

    @property
    def direction(self) -> str:
        return "rtl" if self.rtl else "ltr"


NARROW_SPACE, SPACE = "\u202f", "\u00a0"
#: English, and every language with a catalogue.
LANGUAGES: dict[str, Language] = {
    language.code: language
    for language in (
        Language(ENGLISH, "English", "English"),
        Language("de", "German", "Deutsch", ".", ","),
        Language("fr", "French", "Français", NARROW_SPACE, ","),
        Language("es", "Spanish", "Español", ".", ","),
        Language("pt", "Portuguese", "Português", ".", ","),
        Language("it", "Italian", "Italiano", ".", ","),
        Language("nl", "Dutch", "Nederlands", ".", ","),
        Language("pl", "Polish", "Polski", SPACE, ","),
        Language("cs", "Czech", "Čeština", SPACE, ","),
        Language("tr", "Turkish", "Türkçe", ".", ","),
        Language("uk", "Ukrainian", "Українська", SPACE, ","),
        Language("ar", "Arabic", "العربية", rtl=True),
        Language("he", "Hebrew", "עברית", rtl=True),
        Language("hi", "Hindi", "हिन्दी"),
        Language("zh-hans", "Chinese (simplified)", "简体中文", tag="zh-Hans"),
        Language("zh-hant", "Chinese (traditional)", "繁體中文", tag="zh-Hant"),
        Language("ja", "Japanese", "日本語"),
        Language("ko", "Korean", "한국어"),
        Language("vi", "Vietnamese", "Tiếng Việt", ".", ","),
        Language("id", "Indonesian", "Bahasa Indonesia", ".", ","),
    )
    if language.code == ENGLISH or (CATALOGUES / to_locale(language.code) / "LC_MESSAGES" / "django.mo").exists()
}
CHOICES = [(code, f"{language.name} ({code})") for code, language in LANGUAGES.items()]


@dataclass(frozen=True, slots=True)
class Voice:
    """How a page speaks: a language, wordings of its own for some texts, and the language of what is judged.

    ``own`` is a study's wording by the English text. ``key`` names the language and the wordings, for caches.
    """

    code: str
    own: Mapping[str, str] = field(default_factory=dict)
    item_language: str = ""
    key: str = ENGLISH


def voice(code: str, own: Mapping[str, str] | None = None, item_language: str = "") -> Voice:
    """The voice of a study."""
    if not own:
        return Voice(code, {}, item_language, code)
    digest = sha256(json.dumps(sorted(own.items())).encode()).hexdigest()[:16]
    return Voice(code, own, item_language, f"{code}-{digest}")


_PLAIN = Voice(ENGLISH)
_spoken: ContextVar[Voice] = ContextVar("voice of the page", default=_PLAIN)
#: What a process needs to read a language's catalogue only once.
_catalogues: dict[str, DjangoTranslation] = {}


def marked(text: str) -> str:
    """A text that is worded later, by `gettext` or by the tag translate."""
    return text


def gettext(text: str) -> str:
    """The text in the language of this request."""
    speaker = _spoken.get()
    if text in speaker.own:
        return speaker.own[text]
    return text if speaker.code == ENGLISH or not text else _catalogue(speaker.code).gettext(text)


def ngettext(one: str, several: str, count: int) -> str:
    """The form of a text for this number, in the language of this request."""
    speaker = _spoken.get()
    if speaker.own and (own := speaker.own.get(one if count == 1 else several)):
        return own
    if speaker.code == ENGLISH:
        return one if count == 1 else several
    return _catalogue(speaker.code).ngettext(one, several, count)


def _catalogue(code: str) -> DjangoTranslation:
    if code not in _catalogues:
        _catalogues[code] = translation(code)
    return _catalogues[code]


def speak(speaker: str | Voice) -> None:
    """Words what follows in this request in the language, one of `LANGUAGES`, or in a study's voice."""
    _spoken.set(voice(speaker) if isinstance(speaker, str) else speaker)


@contextmanager
def speaking(speaker: str | Voice) -> Iterator[None]:
    """The language, or the voice, for a few lines of a service, which may run outside a request."""
    before = _spoken.set(voice(speaker) if isinstance(speaker, str) else speaker)
    try:
        yield
    finally:
        _spoken.reset(before)


def stop_speaking() -> None:
    """Back to English, at the end of a request."""
    _spoken.set(_PLAIN)


#: Old codes that some browsers still send.
_RENAMED = {"iw": "he", "in": "id"}


def nearest(tag: str) -> str:
    """The code of the language that is meant by a tag such as pt-BR or zh-TW: pt, zh-hant. Empty if it is not there."""
    tag = tag.strip().lower().replace("_", "-")
    code = tag.partition("-")[0]
    code = _RENAMED.get(code, code)
    if code == "zh":
        traditional = {"hant", "tw", "hk", "mo"} & set(tag.split("-")) and "hans" not in tag
        code = "zh-hant" if traditional else "zh-hans"
    return code if code in LANGUAGES else ""


def preferred(accept_language: str) -> str:
    """The first of a browser's languages that there is; English if there is none. For pages that know no study."""
    for entry in accept_language.split(",")[:20]:
        if code := nearest(entry.partition(";")[0]):
            return code
    return ENGLISH


def spoken() -> Language:
    """The language of this request."""
    return LANGUAGES[_spoken.get().code]


def spoken_code() -> str:
    return _spoken.get().code


def spoken_key() -> str:
    """The language and the study's own wordings, for the keys of caches that hold texts."""
    return _spoken.get().key


def item_language() -> str:
    """The language of what this page asks about, as a BCP 47 tag; empty if it is not known."""
    return _spoken.get().item_language


def number(value: float | Decimal) -> str:
    """12345 as 12,345 in English and 12.345 in German."""
    return _in(spoken(), f"{value:,}")


def money(amount: Decimal) -> str:
    """US dollars: $1,120.00, or 1.120,00 $ in German."""
    language = spoken()
    if language.code == ENGLISH:
        return us_money(amount)
    # Translators: an amount of US dollars. Put the sign where your language has it.
    return gettext("$%(amount)s") % {"amount": _in(language, us_money(amount).replace("$", ""))}


def minutes(count: int) -> str:
    return ngettext("%(count)s minute", "%(count)s minutes", count) % {"count": number(count)}


def moment(when: datetime) -> str:
    """22 Nov 2026, 05:31 UTC, or 22. November 2026, 05:31 UTC."""
    language = spoken()
    if language.code == ENGLISH:
        return moment_in_utc(when)
    utc = when.astimezone(UTC)
    date = _Date(utc).format(_date_format(language.code))
    return gettext("%(date)s, %(time)s UTC") % {"date": date, "time": f"{utc:%H:%M}"}


def day(when: date) -> str:
    """22 Nov 2026, or 22. November 2026: the day of a point in time in UTC, or of a date."""
    language = spoken()
    utc = when.astimezone(UTC) if isinstance(when, datetime) else when
    if language.code == ENGLISH:
        return f"{utc:%-d %b %Y}"
    return _Date(utc).format(_date_format(language.code))


#: Dates as CLDR writes them where Django's format has a zero before the day, an English month or a capital letter.
DATE_FORMATS = {
    "id": "j F Y",
    "uk": "j E Y р.",
    "vi": r"j \t\há\n\g n, Y",
}


def _date_format(code: str) -> str:
    return DATE_FORMATS.get(code) or str(get_format("DATE_FORMAT", lang=code, use_l10n=True))


class _Date(DateFormat):
    """A date with the month in the language of this request: Django's catalogues have their names."""

    data: date

    def F(self) -> str:  # noqa: N802 - a letter of Django's formats
        return gettext(month_name[self.data.month])

    def E(self) -> str:  # noqa: N802 - the month as it is written in a date
        return str(_catalogue(spoken_code()).pgettext("alt. month", month_name[self.data.month]))


_PLACEHOLDER = re.compile(r"%\((\w+)\)s|\{(\w+)\}|</?\w+>")


def marks_in(text: str) -> set[str]:
    """The placeholders and tags of a text, which every wording of it needs."""
    return {match.group(0) for match in _PLACEHOLDER.finditer(text)}


#: How scripts name a text: t("…") or tn("…", "…", count).
_CALL = re.compile(r'\bt(n?)\("([^"]*)"(?:, "([^"]*)")?')


def script_words(scripts: tuple[str, ...]) -> SafeString:
    """The texts of these scripts in the language of this request, as an element of the page; empty in English."""
    speaker = _spoken.get()
    return SafeString() if speaker.key == ENGLISH else _script_words(speaker.key, scripts)


@lru_cache(maxsize=64)
def _script_words(_key: str, scripts: tuple[str, ...]) -> SafeString:
    counts = range(200)
    texts: dict[str, str | list[str]] = {}
    plural: list[int] = []
    for has_forms, one, several in script_texts(scripts):
        if not has_forms:
            texts[one] = gettext(one)
            continue
        forms = list(dict.fromkeys(ngettext(one, several, count) for count in counts))
        texts[f"{one}\n{several}"] = forms
        plural = plural or [forms.index(ngettext(one, several, count)) for count in counts]
    return json_script({"texts": texts, "plural": plural}, "words")


def script_texts(scripts: tuple[str, ...]) -> list[tuple[bool, str, str]]:
    """Every text in these static files: whether it has plural forms, in the singular, and in the plural."""
    calls = []
    for name in scripts:
        path = finders.find(name)
        if path is None:
            raise FileNotFoundError(f"no static file is named {name}")
        script = Path(path).read_text(encoding="utf-8")
        calls += [(bool(n), one, several) for n, one, several in _CALL.findall(script)]
    return calls


def _in(language: Language, english: str) -> str:
    """An English number with the language's separators."""
    if (language.group, language.point) == (",", "."):
        return english
    return english.translate({ord(","): language.group, ord("."): language.point})
