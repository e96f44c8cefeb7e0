"""Workers' pages in the language of the study: numbers, dates, directions, and a study walked in German."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.template import Context
from django.test import Client
from django.urls import reverse

from analysis.description import Point, Scale
from annotation import languages
from annotation.languages import LANGUAGES
from annotation.models import Submission
from annotation.task_types.base import Page
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.kinds.ranking import RankingQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import AnswerError, Grid, Option, Question, ShownIf
from annotation.templatetags.questions import part
from annotation.work.standing import summary
from common.problems import Invalid
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.study_helpers import create
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db

WHEN = datetime(2026, 3, 5, 14, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("code", "number", "money", "moment"),
    [
        ("en", "12,345.5", "$1,120.00", "5 Mar 2026, 14:07 UTC"),
        ("de", "12.345,5", "1.120,00 $", "5. März 2026, 14:07 UTC"),
        ("ja", "12,345.5", "$1,120.00", "2026年3月5日 14:07（UTC）"),
        ("ar", "12,345.5", "1,120.00 دولار", "5 مارس، 2026، 14:07 بالتوقيت العالمي"),
        ("uk", "12\u00a0345,5", "1\u00a0120,00\u00a0$", "5 березня 2026 р., 14:07 UTC"),
        ("he", "12,345.5", "$1,120.00", "5 במרץ 2026, 14:07 UTC"),
        ("hi", "12,345.5", "$1,120.00", "5 मार्च 2026, 14:07 UTC"),
        ("zh-hans", "12,345.5", "US$1,120.00", "2026年3月5日 14:07（UTC）"),
        ("zh-hant", "12,345.5", "US$1,120.00", "2026年3月5日 14:07（UTC）"),
        ("ko", "12,345.5", "US$1,120.00", "2026년 3월 5일 14:07(UTC)"),
        ("vi", "12.345,5", "1.120,00\u00a0US$", "5 tháng 3, 2026, 14:07 UTC"),
        ("id", "12.345,5", "US$1.120,00", "5 Maret 2026 14:07 UTC"),
    ],
)
def test_numbers_money_and_dates(code: str, number: str, money: str, moment: str) -> None:
    with languages.speaking(code):
        assert languages.number(Decimal("12345.5")) == number
        assert languages.money(Decimal(1120)) == money
        assert languages.moment(WHEN) == moment


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "en"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("sv, ja;q=0.5", "ja"),
        ("th,ar;q=0.9", "ar"),  # no catalogue of Thai
        ("zh-TW,ar;q=0.9", "zh-hant"),
        ("zh-HK", "zh-hant"),
        ("zh-CN,zh;q=0.9", "zh-hans"),
        ("ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("ja-JP", "ja"),
        ("xx,*;q=0.1", "en"),
    ],
)
def test_a_page_without_a_study_is_in_the_browsers_language(header: str, code: str) -> None:
    assert languages.preferred(header) == code


def test_a_broken_link_is_explained_in_the_browsers_language(client: Client) -> None:
    response = client.get(reverse("work", args=["nonsense"]), headers={"Accept-Language": "de"})
    assert response.status_code == 404
    assert "Dieser Link ist unvollständig" in response.content.decode()
    assert '<html lang="de">' in response.content.decode()
    assert "This link is not complete" in client.get(reverse("work", args=["nonsense"])).content.decode()


def test_a_study_in_german_from_start_to_end(client: Client) -> None:
    study = make_study(language="de", consent="Ja?", reward=Decimal("1.50"), contact="Raum 12")
    url = reverse("study_start", args=[study.slug])
    page = client.get(url)
    text = fields(page).text
    assert '<html lang="de">' in page.content.decode()
    assert "Vergütung 1,50 $" in text
    assert "Fragen? Schreiben Sie an Raum 12." in text
    start = fields(page).values["start"]
    assert "wenn Sie zustimmen" in fields(client.post(url, {"start": start})).text
    sent = client.post(url, {"start": start, "agree": "yes"})
    participant = study.participants.get()
    browser = WorkerBrowser(participant)
    assert sent["Location"] == browser.url
    first = fields(browser.get()).text
    assert "Schritt 1 von 3" in first
    assert "Senden und weiter" in first
    refused = browser.send(own="")
    assert refused.status_code == 422
    assert "Bitte prüfen Sie eine Antwort. Nichts ist verloren." in fields(refused).text
    browser.finish()
    assert Submission.objects.count() == 1
    done = fields(browser.client.get(browser.done_url)).text
    assert "Vielen Dank" in done
    assert "Ihr Abschlusscode" in done
    assert summary(participant.pk).completion_code in done
    record = fields(browser.client.get(f"{browser.url}record")).text
    assert "Was über Sie gespeichert ist" in record
    assert languages.spoken_code() == "en"  # the next request starts in English


@pytest.mark.parametrize("code", ["en", "ar", "he", "ja", "uk", "zh-hans", "zh-hant"])
def test_the_page_says_its_language_and_direction(code: str) -> None:
    browser = WorkerBrowser(make_participant(study=make_study(language=code)))
    html = browser.get().content.decode()
    language = LANGUAGES[code]
    assert f'<html lang="{language.html}"{" dir=" + chr(34) + "rtl" + chr(34) if language.rtl else ""}>' in html
    assert ('id="words"' in html) == (code != "en")


def test_a_language_that_does_not_exist() -> None:
    with pytest.raises(Invalid) as refusal:
        create(values={"title": "Sets", "language": "tlh"})
    (problem,) = refusal.value.problems
    assert problem.where == "language"
    assert "tlh" in problem.what


def test_the_widgets_of_questions_are_in_the_language_of_the_page() -> None:
    """Drawn questions and points are cached: a cache of one language must not answer for another."""
    scale = Scale("fluency", "ordinal", (Point(1.0, "bad"), Point(2.0), Point(3.0, "good")))
    fluency = ScaleQuestion("fluency", "How fluent?", "fluency", scale=scale, required=False)
    order = RankingQuestion("order", "Order?", "order", options=(Option("a", "Tea"), Option("b", "Milk")))
    reason = TextQuestion("why", "Why?", "why", shown_if=ShownIf("fluency", (1.0, 3.0)))
    page = Context({"values": {}, "errors": {}, "page": Page("one", "One", "", (fluency, order, reason))})

    def drawn() -> str:
        parts = [part(page, question) for question in (fluency, order, reason)]
        grid = Grid("grid", "Grid", (replace(fluency, key="row"),))
        return "".join([*parts, part(page, grid)])

    english = drawn()
    with languages.speaking("de"):
        german = drawn()
    assert drawn() == english
    for words, wording in {
        "(optional)": "(freiwillig)",
        "between “bad” and “good”": "zwischen „bad“ und „good“",
        "Rank of Tea": "Rang von Tea",
        "Only if you chose “bad” or “good” above.": "Nur wenn Sie oben „bad“ oder „good“ gewählt haben.",
    }.items():
        assert english.count(words) == german.count(wording) >= 1
        assert words not in german


@pytest.mark.parametrize(
    ("question", "form", "message"),
    [
        (
            ScaleQuestion("q", "?", "q", scale=Scale.numbered("q", 3, low="bad", high="good")),
            {},
            "Bitte wählen Sie eine Antwort aus.",
        ),
        (TextQuestion("q", "?", "q"), {}, "Bitte schreiben Sie hier etwas."),
        (
            TextQuestion("q", "?", "q", min_words=1200),
            {"q": "Ja."},
            "Bitte schreiben Sie mindestens 1.200 Wörter; Sie haben 1 geschrieben.",
        ),
        (
            ChoicesQuestion("q", "?", "q", options=(Option("a", "A"),)),
            {},
            "Bitte wählen Sie mindestens eine Antwort.",
        ),
        (
            RankingQuestion("q", "?", "q", options=(Option("a", "A"), Option("b", "B"))),
            {"q.a": "1", "q.b": "1"},
            "Bitte vergeben Sie jeden Rang von 1 bis 2 genau einmal.",
        ),
    ],
)
def test_an_answer_is_refused_in_the_language_of_the_page(
    question: Question, form: dict[str, str], message: str
) -> None:
    with languages.speaking("de"), pytest.raises(AnswerError) as refusal:
        question.clean(form)
    assert str(refusal.value) == message
