"""The catalogues of workers' pages: which strings there are, and how a catalogue is read, checked and compiled.

Only developers run this, with ``script/messages``: it needs Babel. A server reads the compiled files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from annotation import languages
from common.languages import marks_in

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "locale"
#: Where workers' strings are. Templates of the console are not among them.
PYTHON = (
    "accounts/signing_in.py",
    "annotation/languages.py",
    "common/brake.py",
    "common/languages.py",
    "marketplace/clock.py",
    "marketplace/countries.py",
    "marketplace/questions/*.py",
    "marketplace/services/**/*.py",
    "marketplace/sites/work/*.py",
    "marketplace/templatetags/market.py",
    "annotation/people/own_record.py",
    "annotation/platforms/**/*.py",
    "annotation/recruiting/pages/arrival.py",
    "annotation/recruiting/pages/hand_in.py",
    "annotation/task_types/**/*.py",
    "annotation/templatetags/questions.py",
    "annotation/work/**/*.py",
)
TEMPLATES = (
    "templates/*.html",
    "templates/annotation/**/*.html",
    "annotation/work/pages/templates/**/*.html",
    "annotation/people/pages/templates/people/record.html",
    "annotation/recruiting/pages/templates/recruiting/hand_in.html",
    "annotation/recruiting/pages/templates/recruiting/at_limit.html",
    "annotation/task_types/**/templates/**/*.html",
    "marketplace/templates/marketplace/work/*.html",
)
SCRIPTS = (*languages.SCRIPTS, "static/marketplace.js")
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None, "t": None, "tn": (1, 2)}
#: Plural rules. The number of forms and the rule are those of a catalogue's header.
PLURALS = {
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
    "cs": "nplurals=3; plural=(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2);",
    "de": "nplurals=2; plural=(n != 1);",
    "es": "nplurals=2; plural=(n != 1);",
    "fr": "nplurals=2; plural=(n > 1);",
    "he": "nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);",
    "hi": "nplurals=2; plural=(n > 1);",
    "id": "nplurals=1; plural=0;",
    "it": "nplurals=2; plural=(n != 1);",
    "ja": "nplurals=1; plural=0;",
    "ko": "nplurals=1; plural=0;",
    "nl": "nplurals=2; plural=(n != 1);",
    "pl": "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);",
    "pt": "nplurals=2; plural=(n > 1);",
    "tr": "nplurals=2; plural=(n != 1);",
    "uk": "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);",
    "vi": "nplurals=1; plural=0;",
    "zh-hans": "nplurals=1; plural=0;",
    "zh-hant": "nplurals=1; plural=0;",
}
_JS_STRING = r'"((?:[^"\\]|\\.)*)"'
_JS_CALL = re.compile(rf"\b(tn?)\({_JS_STRING}(?:, {_JS_STRING})?")


def template_of_catalogues() -> Catalog:
    """Every string of a worker's page, with the files that it is in. Identical strings are one message."""
    catalogue = Catalog(project="HITServer", charset="utf-8")
    for name, message, comments in _extracted():
        catalogue.add(message, locations=[(name, 0)], auto_comments=comments)
    return catalogue


def _extracted() -> Iterator[tuple[str, str | tuple[str, ...], list[str]]]:
    for path in _files(PYTHON):
        yield from _in_python(path, path.read_bytes())
    for path in _files(TEMPLATES):
        yield from _in_python(path, templatize(path.read_text(), origin=str(path)).encode())
    for path in _files(SCRIPTS):
        for call in _JS_CALL.finditer(path.read_text()):
            one, several = (text and text.replace('\\"', '"') for text in call.group(2, 3))
            yield _name(path), (one, several) if call.group(1) == "tn" else one, []


def _in_python(path: Path, code: bytes) -> Iterator[tuple[str, str | tuple[str, ...], list[str]]]:
    calls: Iterator[Any] = extract_python(BytesIO(code), KEYWORDS, ("Translators:",), {})
    for _line, function, message, comments in calls:
        texts = message if isinstance(message, tuple) else (message,)
        if not texts[0]:  # a variable
            continue
        if function == "ngettext":
            yield _name(path), (texts[0], texts[1]), comments
        else:
            yield _name(path), texts[0], comments


def _files(patterns: Sequence[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def po_file(code: str) -> Path:
    """Where a language's catalogue is; Django expects zh_Hans for zh-hans."""
    language, _, script = code.partition("-")
    folder = f"{language}_{script.capitalize()}" if script else language
    return LOCALE / folder / "LC_MESSAGES" / "django.po"


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, charset="utf-8")


def compiled(catalogue: Catalog) -> bytes:
    """The file that Django reads. A message without a translation is left out, so that English shows."""
    catalogue.creation_date = catalogue.revision_date = datetime(2000, 1, 1, tzinfo=UTC)  # the same file every time
    file = BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def problems(code: str) -> list[str]:
    """What is wrong with a catalogue, one line each: missing and left-over strings, placeholders, plural forms."""
    path = po_file(code)
    catalogue, wanted = read(path), template_of_catalogues()
    lines = []
    header = path.read_text(encoding="utf-8").partition("\n\n")[0].replace('"\n"', "")
    if PLURALS[code] not in header:
        lines.append(f"{code}: the header needs Plural-Forms: {PLURALS[code]}")
    number_of_forms = int(PLURALS[code][9])
    for message in wanted:
        if message.id:
            lines += _problems_of(code, message, catalogue.get(message.id), number_of_forms)
    strangers = [message.id for message in catalogue if message.id and message.id not in wanted]
    return lines + [f"{code}: no page has the string {name!r}" for name in strangers]


def _problems_of(code: str, wanted: Any, message: Message | None, number_of_forms: int) -> list[str]:
    string = message.string if message else ""
    texts: list[str] = list(string) if isinstance(string, (tuple, list)) else [str(string or "")]
    if not texts or not all(texts) or message is None or message.fuzzy:
        return [f"{code}: no translation of {wanted.id!r}"]
    if wanted.pluralizable and len(texts) != number_of_forms:
        return [f"{code}: {wanted.id!r} has {len(texts)} plural forms, not {number_of_forms}"]
    ids = wanted.id if wanted.pluralizable else (wanted.id,)
    needed, allowed = marks_in(ids[-1]), set().union(*map(marks_in, ids))
    lines = []
    for text in texts:
        # Forms for one or two often say the number in words.
        missing = set() if wanted.pluralizable and text != texts[-1] else needed - marks_in(text)
        if missing or marks_in(text) - allowed:
            lines.append(f"{code}: the placeholders of {text!r} are not those of {wanted.id!r}")
    return lines


def update(code: str) -> None:
    """Adds new strings to a catalogue, removes those that no page has, and compiles it."""
    path = po_file(code)
    template, old = template_of_catalogues(), read(path) if path.exists() else None
    lines = [
        f'# {code}: strings of workers\' pages. See docs/translating.md.\nmsgid ""\nmsgstr ""\n"Language: {code}\\n"\n'
        f'"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        f'"Content-Transfer-Encoding: 8bit\\n"\n"Plural-Forms: {PLURALS[code]}\\n"\n'
    ]
    for message in sorted((one for one in template if one.id), key=lambda one: (one.locations[0][0], str(one.id))):
        before = old.get(message.id) if old else None
        message.string = before.string if before else ("",) * int(PLURALS[code][9]) if message.pluralizable else ""
        parts = [f"#. {comment}\n" for comment in message.auto_comments]
        parts.append(f"#: {' '.join(sorted({name for name, _ in message.locations}))}\n")
        if message.pluralizable:
            parts.append(f"msgid {_quoted(message.id[0])}\nmsgid_plural {_quoted(message.id[1])}\n")
            parts += [f"msgstr[{number}] {_quoted(text)}\n" for number, text in enumerate(message.string)]
        else:
            parts.append(f"msgid {_quoted(message.id)}\nmsgstr {_quoted(message.string)}\n")
        lines.append("".join(parts))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    path.with_suffix(".mo").write_bytes(compiled(read(path)))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def main(arguments: Sequence[str]) -> int:
    """``check``: prints what is out of date. Without arguments: updates the template and all catalogues."""
    codes = [code for code in PLURALS if po_file(code).exists() or code in arguments]
    if "check" in arguments:
        lines = [line for code in codes for line in problems(code)]
        print("\n".join(lines))
        return bool(lines)
    LOCALE.mkdir(exist_ok=True)
    with (LOCALE / "workers.pot").open("wb") as file:
        write_po(file, template_of_catalogues(), sort_by_file=True, width=0, include_lineno=False, omit_header=True)
    for code in codes:
        update(code)
    print(f"{len(template_of_catalogues())} strings, {len(codes)} languages")
    return 0
