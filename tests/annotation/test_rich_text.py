"""Formatting of long texts: a small part of Markdown, plain text as before, and nothing that a browser would run."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import linebreaks

from annotation.rich_text import as_html
from tests.annotation.console_helpers import make_user, signed_in
from tests.annotation.pages import WorkerBrowser
from tests.factories import make_participant, make_study


def without_line_ends(html: str) -> str:
    return html.replace("\n", "")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Read this\n## Then this", "<h2>Read this</h2><h3>Then this</h3>"),
        ("- one\n- two", "<ul><li>one</li><li>two</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("**bold** and *italic*", "<p><strong>bold</strong> and <em>italic</em></p>"),
        (
            "[the lab](https://example.org/a?b=1&c=2)",
            '<p><a href="https://example.org/a?b=1&amp;c=2" target="_blank" rel="noopener">the lab</a></p>',
        ),
        (
            "<mailto:lab@example.org>",
            '<p><a href="mailto:lab@example.org" target="_blank" rel="noopener">mailto:lab@example.org</a></p>',
        ),
        (r"2 \* 3 is \*6\*", "<p>2 * 3 is *6*</p>"),
        ("", ""),
    ],
)
def test_what_can_be_formatted(text: str, html: str) -> None:
    assert without_line_ends(as_html(text)) == html


def test_headings_fit_below_those_of_the_page() -> None:
    assert as_html("# A", 3) == "<h3>A</h3>\n"
    assert as_html("###### A", 4) == "<h6>A</h6>\n"


@pytest.mark.parametrize(
    "text",
    [
        "One line.",
        "One line,\nanother, with snake_case_names and 3 * 4 = 12.\n\nA new paragraph & “quotes” – #hashtag.",
        "Ends with spaces   \n\n\n\nand a wide gap.",
        "Rate it from 1 (bad) to 5 (good).\n    An indented line.",
        "Pay: $0.18 [see below] (really) ~ 10% > 5 `code` ---",
        "---\n=====\n| a | b |",
        "R&amp;D stays as it was typed.",
    ],
)
def test_plain_text_looks_as_before(text: str) -> None:
    def seen(html: str) -> str:
        """As a browser shows it: spaces and line ends run together."""
        return re.sub(r"\s+", " ", re.sub(r"\s*(</?p>|<br>)\s*", r"\1", html.replace("&#x27;", "'"))).strip()

    assert seen(as_html(text)) == seen(linebreaks(text.strip(), autoescape=True))


def test_text_from_right_to_left_has_its_own_direction() -> None:
    assert as_html("שלום\nعربي").strip() == '<p dir="auto">שלום<br>\nعربي</p>'


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:msgbox(1))",
        "<javascript:alert(1)>",
        "[x](//elsewhere.example/)",
        "[x](/console/)",
        "![x](https://example.org/x.png)",
        '[x](https://example.org "\\" onmouseover=alert(1) x=\\"")',
        "[x]: javascript:alert(1)\n\n[x]",
    ],
)
def test_nothing_runs_and_no_link_leads_into_this_server(text: str) -> None:
    html = as_html(text)
    assert not re.search(r"<(?!/?(p|br|a|h\d|ul|ol|li|strong|em)\b)", html)
    assert not re.search(r"<a [^>]*href=\"(?!https://|http://|mailto:)", html)
    for tag in re.findall(r"<a [^>]*>", html):
        assert re.fullmatch(r'<a href="[^"]*"( title="[^"]*")? target="_blank" rel="noopener">', tag)


def test_deep_nesting_and_long_texts_end_soon() -> None:
    for text in (
        "> - " * 4000,
        "[" * 20_000,
        "*a" * 10_000,
        "- " * 10_000,
        "\n".join("  " * n + "- x" for n in range(500)),
    ):
        assert as_html(text[:20_000])


def test_each_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    as_html("A text that no other test uses.")
    monkeypatch.setattr("annotation.rich_text._PARSER", None)
    assert as_html("A text that no other test uses.") == "<p>A text that no other test uses.</p>\n"


@pytest.mark.django_db
def test_instructions_consent_and_definition_are_formatted_where_they_are_shown() -> None:
    texts = {"instructions": "Read **all** of it.", "definition": "- new\n- **apt**"}
    study = make_study(
        items=1, consent="You may **stop**.", texts=texts, config={"write_first": False, "rate_first": False}
    )
    start = Client().get(reverse("study_start", args=[study.slug])).content.decode()
    assert "Read <strong>all</strong> of it." in start
    assert "You may <strong>stop</strong>." in start
    page = WorkerBrowser(make_participant(study=study)).get().content.decode()
    assert "Read <strong>all</strong> of it." in page
    assert "<li><strong>apt</strong></li>" in page


@pytest.mark.parametrize("task_type", ["likert", "pairwise"])
@pytest.mark.django_db
def test_the_definition_of_what_is_judged_is_on_the_judging_page(task_type: str) -> None:
    for definition in ("Fluent means **easy to read**.", ""):
        study = make_study(task_type=task_type, items=1, texts={"definition": definition} if definition else {})
        page = WorkerBrowser(make_participant(study=study)).get().content.decode()
        assert ("Fluent means <strong>easy to read</strong>." in page) is bool(definition)
        assert ('<div class="notice">' in page) is bool(definition)


@pytest.mark.django_db
def test_the_console_previews_a_text_for_those_who_signed_in() -> None:
    url = reverse("console_formatted")
    client = signed_in(make_user("ada"))
    answer = client.post(url, {"text": "# A\n<b>b</b>\x00"})
    assert answer.content.decode() == "<h3>A</h3>\n<p>&lt;b&gt;b&lt;/b&gt;</p>\n"
    assert client.post(url, {}).content == b""
    assert client.get(url).status_code == 405
    assert Client().post(url, {"text": "x"}).status_code == 302


@pytest.mark.django_db
def test_the_settings_say_how_to_format_and_offer_a_preview() -> None:
    client = signed_in(make_user("ada"))
    page = client.get(reverse("console_new_settings", args=["likert"])).content.decode()
    assert 'data-format="id_consent"' in page
    assert 'data-format="id_text-instructions"' in page
    assert 'data-format="id_text-title"' not in page
    assert "<code>**bold**</code>" in page
