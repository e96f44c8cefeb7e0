"""A study's own wording of buttons, notices and errors: what is refused, where it shows, and what stays English."""

from __future__ import annotations

import re

import pytest
from django.template.engine import Engine
from django.urls import reverse

from annotation import languages
from annotation.models import AuditEntry
from annotation.studies.interface import check_interface, texts_of
from annotation.studies.pages.interface import field_of
from annotation.studies.storing import change_study
from annotation.studies.study_documents import document_of
from annotation.studies.wording_notes import untranslated_texts, wording_warnings
from annotation.task_types.registry import all_types, get_type
from common import language_templates
from common.problems import Invalid
from tests.annotation.console_helpers import as_role, hidden
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.study_helpers import create, draft
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db

CHECK = "Please check %(count)s answers. Nothing is lost."
ONE = "Please check one answer. Nothing is lost."
PART_PAY = "If you stop in the middle of a task after at least one step, you get {amount} for it."


def test_the_list_has_the_texts_of_the_type_and_of_no_other() -> None:
    sources = {source for text in texts_of(get_type("abs_hds")) for source in text.sources}
    assert {"Send and continue", "Please choose one answer.", "Rank of %(option)s", ONE, CHECK, "(empty)"} <= sources
    assert "Story %(story_number)s of %(stories)s" not in sources  # of stories
    assert "Sign out" not in sources  # of the marketplace
    for task in all_types().values():
        assert {text.place for text in texts_of(task)} >= {"Start and consent", "Questions", "Pages of a task"}


@pytest.mark.parametrize(
    ("source", "wording", "problem"),
    [
        ("Send and continu", "Weiter", "Did you mean “Send and continue”?"),
        (CHECK, "Bitte alle ansehen.", "The wording lacks %(count)s."),
        (CHECK, "Bitte %(number)s von %(count)s.", "The text has no %(number)s."),
        (CHECK, "Zu 100 % %(count)s", "Write it twice"),
        ("Start", "<b>Los</b>", "The tags of the wording"),
        ("Start", "Los > weiter", "The tags of the wording"),
        ("Steps", 'Schritte" onclick="', "straight quotation marks"),
        ("Start", "Los " * 60, "Shorten it to 115"),
        (PART_PAY, "Sie bekommen {amount} {}", "The wording has braces"),
        ("Start", 7, "This is int, not text."),
    ],
)
def test_a_wording_that_would_break_a_page_is_refused(source: str, wording: object, problem: str) -> None:
    _, problems = check_interface(task=get_type("abs_hds"), interface={source: wording})
    assert any(problem in str(found) for found in problems), [str(found) for found in problems]


def test_a_singular_may_say_its_number_in_words_and_an_empty_wording_is_none() -> None:
    clean, problems = check_interface(
        task=get_type("abs_hds"), interface={ONE: "Eine Antwort  fehlt.", CHECK: " ", "Start": "Start"}
    )
    assert (clean, problems) == ({ONE: "Eine Antwort fehlt."}, [])


def test_workers_read_the_studys_own_wording_and_those_of_other_studies_do_not() -> None:
    own = {
        "Send and continue": "Weiter & fort",
        ONE: "Eine Antwort fehlt.",
        "Please write something here.": "Hier fehlt Text.",
        "Saved": "Gesichert",
    }
    mine = WorkerBrowser(make_participant(study=make_study(language="de", interface=own)))
    other = WorkerBrowser(make_participant(study=make_study(language="de")))
    english = WorkerBrowser(make_participant(study=make_study(interface={"Send and continue": "Go on"})))
    for browser, button in (
        (mine, "Weiter & fort"),
        (other, "Senden und weiter"),
        (english, "Go on"),
        (mine, "Weiter"),
    ):
        assert button in fields(browser.get()).text
    refused = fields(mine.send(own="")).text
    assert "Eine Antwort fehlt." in refused and "Hier fehlt Text." in refused
    assert "Hier fehlt Text." not in fields(other.send(own="")).text
    assert '"Send and continue"' not in english.get().content.decode()  # scripts do not use it
    assert '"words"' in english.get().content.decode()
    assert languages.spoken_key() == "en"


def test_templates_of_studies_that_nobody_reads_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_templates, "MOST_VOICES", 2)
    engine = Engine.get_default()
    loader = language_templates.Loader(engine, engine.loaders[0][1])
    for name in "abca":
        with languages.speaking(languages.voice("de", {"Start": name})):
            loader.get_template("work/start.html")
    kept = {key.partition(" ")[0] for key in loader.get_template_cache}
    assert kept == {languages.voice("de", {"Start": name}).key for name in "ca"}


def test_a_study_file_words_the_interface_and_an_unknown_text_is_refused() -> None:
    study = create(values={"title": "Sets"}, interface={"Start": "Begin"})
    assert document_of(study)["interface"] == {"Start": "Begin"}
    change_study(study=study, interface={"Start": "Go"}, actor="ann")
    entry = AuditEntry.objects.filter(study=study, action="change").get()
    assert entry.detail["changes"] == {"interface.Start": {"old": "Begin", "new": "Go"}}
    with pytest.raises(Invalid, match="Did you mean “Start”"):
        change_study(study=study, interface={"Stort": "Go"}, actor="ann")


def test_the_page_saves_wordings_and_shows_what_is_wrong_beside_the_box() -> None:
    study = draft(language="de", interface={"Start": "Los"})
    client = as_role("editor", study)
    address = reverse("console_interface", args=[study.slug])
    page = client.get(address).content.decode()
    assert 'value="Los"' in page and 'placeholder="Senden und weiter"' in page
    form = {
        "version": hidden(page)["version"],
        field_of("Send and continue"): "Weiter",
        field_of(CHECK): "Alle ansehen",
    }
    refused = client.post(address, form)
    assert refused.status_code == 422 and "The wording lacks %(count)s." in refused.content.decode()
    assert client.post(address, form | {field_of(CHECK): ""}).status_code == 302
    study.refresh_from_db()
    assert study.interface == {"Send and continue": "Weiter"}
    assert "Somebody else changed" in client.post(address, form).content.decode()


def test_a_draft_names_the_texts_that_are_still_in_english() -> None:
    study = draft(language="de")
    names = untranslated_texts(study)
    assert "instructions" in names
    (warning,) = wording_warnings(study)
    assert warning.startswith(f"The interface is in German, but {len(names)} texts of the task are still in English: ")
    study.texts = {name: "Deutsch" for name in names if name != "instructions"}
    assert untranslated_texts(study) == ["instructions"]
    study.arms.update(texts={"instructions": "Lies den Text."})
    assert untranslated_texts(study) == ([] if study.arms.exists() else ["instructions"])
    study.language = "en"
    study.texts = {}
    assert untranslated_texts(study) == []


def test_items_have_their_own_language_and_every_text_its_own_direction() -> None:
    study = make_study(language="ar", item_language="en-GB", texts={"instructions": "# Read\n\nRead it."})
    html = WorkerBrowser(make_participant(study=study)).get().content.decode()
    texts = re.findall(r'<p class="text[^>]*>', html)
    assert texts and all('dir="auto" lang="en-GB"' in tag for tag in texts)
    assert re.search(r'<(legend|label for="[^"]*") dir="auto">', html)
    assert 'lang="en-GB"' not in WorkerBrowser(make_participant(study=make_study())).get().content.decode()


@pytest.mark.parametrize("tag", ["english", "de_DE", "x", "<b>"])
def test_a_language_of_items_is_a_tag(tag: str) -> None:
    with pytest.raises(Invalid, match="item_language"):
        create(values={"title": "Sets", "item_language": tag})


@pytest.mark.parametrize(("tag", "code"), [("de-AT", "de"), ("AR", "ar"), ("ja_JP", "ja")])
def test_a_language_with_a_region_is_the_language(tag: str, code: str) -> None:
    assert create(values={"title": "Sets", "language": tag}).language == code


@pytest.mark.parametrize(
    ("language", "items", "has_fonts"), [("en", "", False), ("de", "", False), ("ja", "", True), ("de", "th", True)]
)
def test_fonts_of_other_scripts_are_loaded_where_they_are_needed(language: str, items: str, has_fonts: bool) -> None:
    study = make_study(language=language, item_language=items)
    html = WorkerBrowser(make_participant(study=study)).get().content.decode()
    assert ("scripts.css" in html) == has_fonts
