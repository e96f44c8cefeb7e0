"""A file whose columns somebody must name, in a real browser: with and without JavaScript, narrow and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Membership, Study
from tests.annotation.console_helpers import make_user
from tests.annotation.table_makers import workbook
from tests.browser.conftest import NARROW, NewPage, axe_problems
from tests.browser.test_console import sign_in
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROWS = [
    ["Nr", "Prompt", "Answer of the model", "system", "note"],
    ["a", "Say hello to somebody whom you have not seen for a long time.", "Good morning, it is you!", "one", "x"],
    ["b", "Say goodbye.", "Good night.", "two", "y"],
]


@pytest.fixture(autouse=True)
def media(settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_FILES = str(tmp_path / "media")


def upload(page: Page, live_server: LiveServer, study: Study, path: Path) -> None:
    Membership.objects.create(study=study, user=make_user("ada"), role="owner")
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_upload", args=[study.slug]))
    page.get_by_label("File", exact=True).set_input_files(path)
    page.get_by_role("button", name="Import", exact=True).click()


@pytest.mark.parametrize("scripts", [True, False])
def test_columns_are_chosen_and_the_items_imported(
    live_server: LiveServer, new_page: NewPage, tmp_path: Path, axe_core: Path, scripts: bool
) -> None:
    path = tmp_path / "mine.xlsx"
    path.write_bytes(workbook(ROWS, Notes=[["read me"]]))
    page = new_page(viewport=NARROW, color_scheme="dark", java_script_enabled=scripts)
    study = make_study(task_type="quality", live=False, items=0)
    upload(page, live_server, study, path)
    expect(page.get_by_role("heading", name="Which column is which")).to_be_visible()
    if scripts:
        assert axe_problems(page, axe_core) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_label("context")).to_have_value("1")
    page.get_by_label("sample_id").select_option("Nr")
    page.get_by_label("text", exact=True).select_option("Answer of the model")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("2 items imported from mine.xlsx.")


def test_windows_1252_is_offered_with_the_cells_as_they_would_be(
    live_server: LiveServer, new_page: NewPage, tmp_path: Path, axe_core: Path
) -> None:
    path = tmp_path / "windows.csv"
    path.write_bytes("sample_id;context;text;system\na;Zoë asks.;Müller’s café.;one\n".encode("cp1252"))
    page = new_page()
    upload(page, live_server, make_study(task_type="quality", live=False, items=0), path)
    expect(page.get_by_role("heading", name="The file is not UTF-8")).to_be_visible()
    expect(page.get_by_role("cell", name="Müller’s café.")).to_be_visible()
    assert axe_problems(page, axe_core) == []
    page.get_by_label("Encoding").select_option("windows-1252")
    page.get_by_role("button", name="Read it like this").click()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("1 item imported from windows.csv.")
