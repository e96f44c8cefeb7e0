"""Files that somebody must say how to read: which column is which, which encoding, sheet, separator or split."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Item, Study
from annotation.studies.staged_uploads import KEPT_SECONDS, remove_old_uploads
from tests.annotation.console_helpers import as_role
from tests.annotation.table_makers import workbook, zipped
from tests.factories import make_study

pytestmark = pytest.mark.django_db

OTHER_NAMES = "Nr;Prompt;Text;system;note\na;Hello;Good morning;one;x\nb;Bye;Good night;two;y\n"


@pytest.fixture(autouse=True)
def media(settings: LazySettings, tmp_path: Path) -> Path:
    settings.MEDIA_FILES = str(tmp_path)
    return tmp_path / "uploads"


def draft() -> tuple[Study, Client]:
    study = make_study(task_type="quality", live=False, items=0)
    return study, as_role("editor", study)


def send(client: Client, study: Study, name: str, content: str | bytes, **fields: str) -> Any:
    data = content.encode() if isinstance(content, str) else content
    url = reverse("console_upload", args=[study.slug])
    return client.post(url, {"file": SimpleUploadedFile(name, data), **fields})


def page_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def form_values(page: str) -> dict[str, str]:
    """What a browser would send of the form with the columns, unchanged."""
    values = {"digest": re.findall(r'name="digest" value="(\w+)"', page)[0]}
    for name, inner in re.findall(r'<select name="([\w-]+)"[^>]*>(.*?)</select>', page, re.DOTALL):
        chosen = re.findall(r'<option value="([^"]*)" selected>', inner)
        values[name] = chosen[0] if chosen else ""
    return values


def options_of(page: str, field: str) -> dict[str, str]:
    inner = re.findall(rf'<select name="{field}"[^>]*>(.*?)</select>', page, re.DOTALL)[0]
    return {label: value for value, label in re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)</option>', inner)}


def test_a_file_with_other_names_is_imported_once_somebody_has_chosen_its_columns(media: Path) -> None:
    study, client = draft()
    response = send(client, study, "mine.csv", OTHER_NAMES)
    assert response.status_code == 302
    page = page_of(client, response.url)
    assert "mine.csv" in page
    assert "2 rows." in page
    values = form_values(page)
    columns = options_of(page, "column-0")
    assert list(columns) == ["Choose a column", "Nr", "Prompt", "Text", "system", "note"]
    # Prompt and Text are guessed by their names; Nr is not.
    assert values["column-0"] == ""
    refused = client.post(response.url, {**values, "action": "import"})
    assert refused.status_code == 422
    assert "Choose the column with sample_id." in refused.content.decode()
    assert not Item.objects.filter(study=study).exists()
    values["column-0"] = columns["Nr"]
    done = client.post(response.url, {**values, "action": "import"}, follow=True)
    assert "2 items imported from mine.csv." in done.content.decode()
    first = Item.objects.filter(study=study).order_by("position")[0]
    assert (first.external_id, first.payload["context"], first.payload["text"]) == ("a", "Hello", "Good morning")
    assert first.payload["extra"] == [["note", "x"]]
    entry = AuditEntry.objects.get(study=study, action="import items")
    assert entry.detail["columns"] == {"Nr": "sample_id", "Prompt": "context", "Text": "text"}
    assert list(media.iterdir()) == []


def test_the_next_file_starts_with_the_columns_of_the_last() -> None:
    study, client = draft()
    address = send(client, study, "mine.csv", OTHER_NAMES).url
    page = page_of(client, address)
    values = {**form_values(page), "column-0": options_of(page, "column-0")["Nr"], "action": "import"}
    client.post(address, values)
    page = page_of(client, send(client, study, "again.csv", OTHER_NAMES).url)
    assert form_values(page)["column-0"] == options_of(page, "column-0")["Nr"]


def test_columns_are_shown_on_request_although_all_names_are_right() -> None:
    study, client = draft()
    good = OTHER_NAMES.replace("Nr;Prompt;Text", "sample_id;context;text")
    address = send(client, study, "good.csv", good, choose_columns="on").url
    page = page_of(client, address)
    assert "problem" not in page
    client.post(address, {**form_values(page), "action": "import"})
    assert Item.objects.filter(study=study).count() == 2


def test_a_column_whose_name_another_one_gets_is_stored_under_a_name_with_a_number() -> None:
    study, client = draft()
    content = "sample_id,context,text,system,better\na,C,first,one,second\n"
    address = send(client, study, "x.csv", content, choose_columns="on").url
    page = page_of(client, address)
    values = form_values(page)
    field = next(name for name, value in values.items() if value == options_of(page, "column-0")["text"])
    values[field] = options_of(page, field)["better"]
    client.post(address, {**values, "action": "import"})
    item = Item.objects.get(study=study)
    assert item.payload["text"] == "second"
    assert ["text_2", "first"] in item.payload["extra"]


def test_one_column_cannot_be_two(media: Path) -> None:
    study, client = draft()
    address = send(client, study, "mine.csv", OTHER_NAMES).url
    page = page_of(client, address)
    columns = options_of(page, "column-0")
    values = {**form_values(page), "column-0": columns["Text"]}
    response = client.post(address, {**values, "action": "import"})
    assert response.status_code == 422
    assert "“Text” is chosen for sample_id and text. Choose each column once." in response.content.decode()
    assert len(list(media.glob("*.data"))) == 1


def test_problems_in_the_rows_keep_the_file_and_the_choices() -> None:
    study, client = draft()
    content = "Nr;Prompt;Text;system\na;Hello;Good;one\na;;Night;two\n"
    address = send(client, study, "mine.csv", content).url
    page = page_of(client, address)
    values = {**form_values(page), "column-0": options_of(page, "column-0")["Nr"], "action": "import"}
    response = client.post(address, values)
    page = response.content.decode()
    assert response.status_code == 422
    assert "2 problems in mine.csv; nothing was imported" in page
    assert form_values(page)["column-0"] == values["column-0"]


def test_a_windows_1252_file_shows_its_cells_and_is_read_once_somebody_agrees() -> None:
    study, client = draft()
    content = "sample_id;context;text;system\na;Zoë;Müller’s café;one\n".encode("cp1252")
    address = send(client, study, "win.csv", content).url
    page = page_of(client, address)
    assert "The file is not UTF-8" in page
    assert "Müller’s café" in page
    read = client.post(address, {"encoding": "windows-1252", "digest": "", "action": "read"})
    assert read.status_code == 200
    page = read.content.decode()
    assert "The file is not UTF-8" not in page
    client.post(address, {**form_values(page), "action": "import"})
    assert Item.objects.get(study=study).payload["text"] == "Müller’s café"
    assert AuditEntry.objects.get(study=study, action="import items").detail["encoding"] == "windows-1252"


def test_the_separator_is_asked_for_where_the_header_has_two() -> None:
    study, client = draft()
    address = send(client, study, "x.csv", "sample_id;context;text;system;a,b\na;C;T, t;one;\n").url
    assert "Choose the separator" in page_of(client, address)
    page = client.post(address, {"separator": "semicolon", "action": "read"}).content.decode()
    client.post(address, {**form_values(page), "action": "import"})
    assert Item.objects.get(study=study).payload["text"] == "T, t"


def test_another_sheet_can_be_chosen() -> None:
    study, client = draft()
    items = [["sample_id", "context", "text", "system"], ["a", "C", "T", "one"]]
    address = send(client, study, "x.xlsx", workbook([["read", "me"], [1, 2]], Items=items)).url
    page = page_of(client, address)
    assert "Only the first sheet, “Items”, was read" in page
    assert list(options_of(page, "sheet")) == ["The first", "Items", "Items1"]
    page = client.post(address, {"sheet": "Items1", "action": "read"}).content.decode()
    client.post(address, {**form_values(page), "action": "import"})
    assert Item.objects.get(study=study).external_id == "a"


def test_a_split_is_chosen() -> None:
    study, client = draft()
    rows = "sample_id,context,text,system\n{},C,T,one\n"
    data = zipped({"train.csv": rows.format("a"), "test.csv": rows.format("b")})
    address = send(client, study, "set.zip", data).url
    assert list(options_of(page_of(client, address), "split")) == ["Choose", "test (1 file)", "train (1 file)"]
    page = client.post(address, {"split": "test", "action": "read"}).content.decode()
    client.post(address, {**form_values(page), "action": "import"})
    assert Item.objects.get(study=study).external_id == "b"


def test_numbered_columns_are_chosen_together() -> None:
    study = make_study(live=False, items=0)
    client = as_role("editor", study)
    address = send(client, study, "x.csv", "sample_id,context,answer 1,answer 2\n1,Hi,a b,c d\n").url
    page = page_of(client, address)
    ticked = re.findall(r'name="(column-\d+)" value="(\d+)"[^>]*checked', page)
    assert [value for _, value in ticked] == ["2", "3"]
    values: dict[str, Any] = {**form_values(page), ticked[0][0]: ["2", "3"], "action": "import"}
    client.post(address, values)
    assert Item.objects.get(study=study).payload["responses"] == ["a b", "c d"]


def test_html_in_names_and_cells_is_shown_as_text() -> None:
    study, client = draft()
    address = send(client, study, "<b>.csv", "<img src=x>,b\n<script>1</script>,2\n").url
    page = page_of(client, address)
    assert "<img src=x>" not in page
    assert "<script>1" not in page
    assert "&lt;script&gt;1" in page


def test_choosing_another_file_removes_the_first(media: Path) -> None:
    study, client = draft()
    address = send(client, study, "mine.csv", OTHER_NAMES).url
    response = client.post(address, {"action": "discard"})
    assert response.headers["Location"] == reverse("console_upload", args=[study.slug])
    assert list(media.iterdir()) == []


def test_a_file_waits_for_a_day_and_only_the_last_three_of_a_user(media: Path) -> None:
    study, client = draft()
    addresses = [send(client, study, "mine.csv", OTHER_NAMES).url for _ in range(4)]
    assert len(list(media.glob("*.data"))) == 3
    for path in media.iterdir():
        os.utime(path, (0, time.time() - KEPT_SECONDS - 1))
    response = client.get(addresses[-1], follow=True)
    assert "This file is no longer stored here. Choose it again." in response.content.decode()
    remove_old_uploads()
    assert list(media.iterdir()) == []


def test_a_launched_study_takes_no_file_that_waits() -> None:
    study, client = draft()
    address = send(client, study, "mine.csv", OTHER_NAMES).url
    Study.objects.filter(pk=study.pk).update(status=Study.Status.LIVE)
    response = client.post(address, {"action": "import"}, follow=True)
    assert "its ratings belong to them" in response.content.decode()


def test_a_file_belongs_to_the_user_who_uploaded_it() -> None:
    study, client = draft()
    address = send(client, study, "mine.csv", OTHER_NAMES).url
    teammate = as_role("owner", study)
    assert "no longer stored here" in teammate.get(address, follow=True).content.decode()
    outsider = as_role("owner", make_study(live=False))
    assert outsider.get(address).status_code == 404
    assert as_role("viewer", study).post(address, {"action": "import"}).status_code == 404
    assert Client().get(address).status_code == 302
    assert client.get(address).status_code == 200


@pytest.mark.parametrize("key", ["..", "x", "a" * 32, "0" * 31])
def test_a_key_that_names_no_file(key: str) -> None:
    study, client = draft()
    address = reverse("console_upload", args=[study.slug]) + f"{key}/"
    response = client.get(address, follow=True)
    assert response.status_code == 404 or "no longer stored here" in response.content.decode()
