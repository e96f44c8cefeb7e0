"""Every string that a worker can read is in the catalogues, and every catalogue is whole."""

from __future__ import annotations

import re
import shutil
from gettext import c2py
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel import Locale
from django.template.base import Lexer, TokenType

from annotation import languages
from hitserver import messages

CATALOGUES = [code for code in messages.PLURALS if messages.po_file(code).exists()]
#: Texts of templates that are the same in every language, or not for workers.
SAME_EVERYWHERE = {
    "HITServer": "the name of the program",
    "A": "the letter of a text",
    "B": "the letter of a text",
}
#: Parts of a page that only machines read.
NOT_READ = ("script", "style")
SPOKEN_ATTRIBUTES = ("aria-label", "alt", "title", "placeholder", "data-label")
NOT_FOR_WORKERS = {
    "templates/annotation/questions/_attributes.html": "attributes of an element",
    "marketplace/templates/marketplace/work/_field_state.html": "attributes of an element",
    "marketplace/templates/marketplace/work/_formats.html": "attributes of an element",
    "templates/_pages.html": "pages of the console's lists",
    "templates/403_csrf.html": "workers' forms need no cookie",
}


class Texts(HTMLParser):
    """The texts of a template in which tags of the template language are cut out."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in NOT_READ
        self.texts += [value for name, value in attrs if name in SPOKEN_ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in NOT_READ

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


def untranslated(source: str) -> list[str]:
    """The texts of a template outside translate and blocktranslate."""
    inside, parts = "", []
    for token in Lexer(source).tokenize():
        if token.token_type == TokenType.BLOCK:
            words = token.contents.split()
            if words[0] == "blocktranslate" or (words[0] == "block" and words[1].endswith("_class")):
                inside = f"end{words[0]}"
            elif words[0] == inside:
                inside = ""
        elif token.token_type == TokenType.TEXT and not inside:
            parts.append(token.contents)
    texts = [" ".join(text.split()) for text in Texts(" \x00 ".join(parts)).texts]
    pieces = [piece.strip() for text in texts for piece in text.split("\x00")]
    return [piece for piece in pieces if re.search(r"[A-Za-z]", piece) and piece not in SAME_EVERYWHERE]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('<p>{% translate "Start" %}</p>', []),
        ("<p>Start</p>", ["Start"]),
        ('<p>{% translate "Start" %} now</p>', ["now"]),
        ("<p>{% blocktranslate %}{{ n }} of {{ m }}{% endblocktranslate %}</p>", []),
        ('<img alt="A cat">', ["A cat"]),
        ("<p>{{ title }} · 4</p>", []),
    ],
)
def test_texts_outside_the_translation_are_found(source: str, texts: list[str]) -> None:
    assert untranslated(source) == texts


def test_no_template_of_a_workers_page_has_a_text_of_its_own() -> None:
    paths = [path for pattern in messages.TEMPLATES for path in messages.ROOT.glob(pattern)]
    assert len(paths) > 40
    texts = {str(path.relative_to(messages.ROOT)): untranslated(path.read_text()) for path in paths}
    names = {name for name, text in texts.items() if text}
    assert {name: texts[name] for name in names - NOT_FOR_WORKERS.keys()} == {}


#: Modules that show messages to workers.
SHOWING = ("annotation/work/pages/*.py", "annotation/recruiting/pages/arrival.py", "annotation/platforms/panel.py")
#: Functions of workers' pages whose arguments workers read.
_SHOWN = re.compile(r"\b(?:message|Notice|Link|BadArrival)\((?:[^()]|\([^()]*\))*\)", re.S)
_SENTENCE = re.compile(r'(?<![\w(])f?"[A-Z][a-z]+ [^"]*"')


def test_no_page_shows_a_message_that_bypasses_the_translation() -> None:
    for pattern in SHOWING:
        for path in messages.ROOT.glob(pattern):
            for call in _SHOWN.finditer(path.read_text()):
                outside = re.sub(r"\b(?:_|marked)\((?:[^()]|\([^()]*\))*\)", "", call.group(0), flags=re.S)
                assert not _SENTENCE.search(outside), f"{path.name}: {outside}"


def test_the_template_of_catalogues_has_every_string() -> None:
    template = messages.read(messages.LOCALE / "workers.pot")
    wanted = {message.id for message in messages.template_of_catalogues()}
    assert {message.id for message in template} == wanted, "Run script/messages."
    assert len(wanted) > 400


@pytest.mark.parametrize("code", CATALOGUES)
def test_a_catalogue_is_whole(code: str) -> None:
    assert messages.problems(code) == []


@pytest.mark.parametrize("code", CATALOGUES)
def test_what_the_server_reads_is_what_the_catalogue_says(code: str) -> None:
    path = messages.po_file(code)
    assert path.with_suffix(".mo").read_bytes() == messages.compiled(messages.read(path)), "Run script/messages."


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('msgstr "Etwas fehlt"', 'msgstr ""', "no translation of 'Something is missing'"),
        ("bis zu %(each)s", "bis zu %(jede)s", "the placeholders of 'bis zu %(jede)s'"),
        ('msgid "Something is missing"', 'msgid "Something is gone"', "no page has the string 'Something is gone'"),
        ('msgstr[0] "%(count)s Minute"', 'msgstr[0] ""', "no translation of ('%(count)s minute'"),
        ("nplurals=2", "nplurals=3", "the header needs Plural-Forms"),
    ],
)
def test_a_broken_catalogue_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str, new: str, problem: str
) -> None:
    copy = tmp_path / "django.po"
    shutil.copy(messages.po_file("de"), copy)
    text = copy.read_text()
    assert old in text
    copy.write_text(text.replace(old, new))
    monkeypatch.setattr(messages, "po_file", lambda code: copy)
    assert any(problem in line for line in messages.problems("de"))


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("en", {1: "1 minute", 2: "2 minutes"}),
        ("de", {1: "1 Minute", 2: "2 Minuten"}),
        ("ja", {1: "1分", 2: "2分"}),
        ("fr", {0: "0 minute", 1: "1 minute", 2: "2 minutes"}),
        ("es", {1: "1 minuto", 2: "2 minutos"}),
        ("pt", {0: "0 minuto", 1: "1 minuto", 2: "2 minutos"}),
        ("it", {1: "1 minuto", 2: "2 minuti"}),
        ("nl", {1: "1 minuut", 2: "2 minuten"}),
        ("cs", {1: "1 minuta", 2: "2 minuty", 5: "5 minut", 22: "22 minut"}),
        ("tr", {1: "1 dakika", 2: "2 dakika"}),
        ("pl", {1: "1 minuta", 2: "2 minuty", 5: "5 minut", 12: "12 minut", 22: "22 minuty"}),
        ("ar", {1: "دقيقة واحدة", 2: "دقيقتان", 3: "3 دقائق", 11: "11 دقيقة", 100: "100 دقيقة"}),
        (
            "uk",
            {1: "1 хвилина", 2: "2 хвилини", 5: "5 хвилин", 12: "12 хвилин", 21: "21 хвилина", 22: "22 хвилини"},
        ),
        ("he", {1: "דקה אחת", 2: "שתי דקות", 5: "5 דקות", 22: "22 דקות"}),
        ("hi", {1: "1 मिनट", 2: "2 मिनट"}),
        ("zh-hans", {1: "1 分钟", 2: "2 分钟"}),
        ("zh-hant", {1: "1 分鐘", 2: "2 分鐘"}),
        ("ko", {1: "1분", 2: "2분"}),
        ("vi", {1: "1 phút", 2: "2 phút"}),
        ("id", {1: "1 menit", 2: "2 menit"}),
    ],
)
def test_plural_forms(code: str, counts: dict[int, str]) -> None:
    with languages.speaking(code):
        assert {count: languages.minutes(count) for count in counts} == counts


@pytest.mark.parametrize("code", messages.PLURALS)
def test_a_plural_rule_is_that_of_cldr(code: str) -> None:
    """Numbers with the same form in a catalogue have the same category in Unicode's data, which Babel brings."""
    rule = c2py(messages.PLURALS[code].partition("plural=")[2].rstrip(";"))
    category = Locale.parse(code, sep="-").plural_form
    pairs = {(rule(count), category(count)) for count in range(1000)}
    assert len(pairs) == len({form for form, _ in pairs}) == len({name for _, name in pairs})


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("he", {1: "משימה אחת פנויה כרגע.", 2: "שתי משימות פנויות כרגע.", 5: "5 משימות פנויות כרגע."}),
        ("hi", {0: "अभी 0 कार्य खाली है।", 1: "अभी 1 कार्य खाली है।", 2: "अभी 2 कार्य खाली हैं।"}),
        ("uk", {21: "Зараз вільне 21 завдання.", 22: "Зараз вільні 22 завдання.", 25: "Зараз вільно 25 завдань."}),
    ],
)
def test_a_sentence_agrees_with_its_number(code: str, counts: dict[int, str]) -> None:
    one, several = "%(count)s task is free right now.", "%(count)s tasks are free right now."
    with languages.speaking(code):
        assert {count: languages.ngettext(one, several, count) % {"count": count} for count in counts} == counts


def test_the_text_of_scripts_is_one_of_the_catalogue() -> None:
    with languages.speaking("de"):
        for has_forms, one, several in languages.script_texts():
            assert (languages.ngettext(one, several, 5) if has_forms else languages.gettext(one)) not in (
                one,
                several,
            ), one


def test_every_language_that_a_study_can_have_has_plural_rules() -> None:
    assert set(languages.LANGUAGES) - {"en"} <= set(messages.PLURALS)
