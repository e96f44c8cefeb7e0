"""Importing items in the browser, and looking at them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from annotation.models import Item, Study
from annotation.task_types.registry import get_type
from tests.annotation.console_helpers import as_role
from tests.factories import make_study

pytestmark = pytest.mark.django_db

GOOD = "sample_id,context,resp_0,resp_1,source\n1,Hello,a b,c d,web\n2,Bye,e f,g h,book\n"


def draft(items: int = 0) -> tuple[Study, Client]:
    study = make_study(live=False, items=items)
    return study, as_role("editor", study)


def send(client: Client, study: Study, name: str, content: str | bytes, *, follow: bool = False) -> Any:
    data = content.encode() if isinstance(content, str) else content
    return client.post(
        reverse("console_upload", args=[study.slug]), {"file": SimpleUploadedFile(name, data)}, follow=follow
    )


def ids(study: Study) -> list[str]:
    return list(Item.objects.filter(study=study).order_by("position").values_list("external_id", flat=True))


# --- upload ---


def test_the_page_says_which_columns_the_type_reads_and_how_large_a_file_may_be() -> None:
    study, client = draft()
    page = client.get(reverse("console_upload", args=[study.slug])).content.decode()
    for column in get_type(study.task_type).columns(study.config):
        assert f"<code>{column.name}</code>" in page
        assert escape(column.meaning) in page
    assert f"At most {settings.MAX_UPLOAD_BYTES // 1024**2} MB." in page


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.csv", GOOD),
        ("ITEMS.CSV", "\ufeff" + GOOD),
        ("items.tsv", GOOD.replace(",", "\t")),
        (
            "items.jsonl",
            "\n".join(json.dumps({"sample_id": str(n), "context": "Hi", "resp_0": "a", "resp_1": "b"}) for n in (1, 2)),
        ),
    ],
)
def test_a_file_is_imported_and_its_first_rows_are_shown(name: str, content: str) -> None:
    study, client = draft()
    response = send(client, study, name, content, follow=True)
    page = response.content.decode()
    assert response.redirect_chain == [(reverse("console_upload", args=[study.slug]), 302)]
    assert f"2 items imported from {name}" in page
    assert ids(study) == ["1", "2"]
    assert "The first 2</caption>" in page


def test_another_file_replaces_the_items() -> None:
    study, client = draft(items=5)
    send(client, study, "items.csv", GOOD)
    assert ids(study) == ["1", "2"]


def test_all_problems_are_in_one_table_and_nothing_is_imported() -> None:
    study, client = draft(items=3)
    before = ids(study)
    header = "sample_id,context,resp_0,resp_1,label_value,label_name\n"
    bad = header + "1,,a,b,much,temp\n2,Hi,only,,0.5,temp\n3,Ok,x,y,1,temp\n"
    response = send(client, study, "bad.csv", bad)
    page = response.content.decode()
    assert response.status_code == 422
    assert "3 problems in bad.csv; nothing was imported" in page
    assert "The 3 items imported before are still here." in page
    assert page.count('<td data-label="Row"') == 3
    assert escape("“much” is not a number.") in page
    assert ids(study) == before


def test_html_in_a_broken_file_is_shown_as_text() -> None:
    study, client = draft()
    bad = "sample_id,context,resp_0,resp_1,label_value,label_name\n1,Hi,a,b,<img src=x onerror=alert(1)>,temp\n"
    page = send(client, study, "<b>.csv", bad).content.decode()
    assert "<img src=x" not in page
    assert "<b>.csv" not in page
    assert "&lt;img src=x" in page


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("items.xlsx", b"PK\x03\x04 something", "items.xlsx"),
        ("notes.pdf", b"%PDF-1.7", "is not a supported file type"),
        ("noending", b"a,b\n1,2\n", "is not a supported file type"),
        ("empty.csv", b"", "This file is empty."),
        ("header.csv", b"sample_id,context,resp_0,resp_1\n", "no data rows"),
        ("nul.csv", b"sample_id,context,resp_0,resp_1\n1,Hi,a\x00,b\n", "problem"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name: str, content: bytes, message: str) -> None:
    study, client = draft(items=2)
    before = ids(study)
    response = send(client, study, name, content)
    assert response.status_code == 422
    page = response.content.decode()
    assert message in page
    assert "othing was imported" in page
    assert ids(study) == before


def test_sending_without_a_file_says_to_choose_one() -> None:
    study, client = draft()
    response = client.post(reverse("console_upload", args=[study.slug]))
    assert response.status_code == 422
    assert "Choose a file: .csv, .tsv, .xlsx, .json, .jsonl, .parquet or .zip." in response.content.decode()


def test_a_file_over_the_limit_is_refused(settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 100
    study, client = draft()
    response = send(client, study, "large.csv", GOOD + "3,Hi,a,b,web\n" * 20)
    assert response.status_code in (413, 422)
    assert not ids(study)


def test_the_items_of_a_live_study_cannot_be_replaced() -> None:
    study = make_study(items=2)
    client = as_role("editor", study)
    before = ids(study)
    response = send(client, study, "items.csv", GOOD, follow=True)
    assert "its ratings belong to them" in response.content.decode()
    assert ids(study) == before


def test_a_column_called_items_is_shown_like_any_other() -> None:
    study, client = draft()
    content = GOOD.replace("source", "items")
    send(client, study, "items.csv", content)
    item = Item.objects.filter(study=study).first()
    assert item
    page = client.get(reverse("console_item", args=[study.slug, item.pk])).content.decode()
    assert "<dt>items</dt><dd>web</dd>" in page


def test_queries_of_the_upload_page_do_not_grow_with_items(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    counts = []
    for items in (2, 20):
        study = make_study(items=items, live=False)
        client = as_role("editor", study)
        url = reverse("console_upload", args=[study.slug])
        client.get(url)
        with django_assert_max_num_queries(20) as seen:
            client.get(url)
        counts.append(len(seen))
    assert counts[0] == counts[1]


def problems_in(page: str) -> list[tuple[str, str]]:
    """Row and column of each problem in the table."""
    return re.findall(r'<td data-label="Row"[^>]*>([^<]*)</td><td data-label="Column"><code>([^<]*)</code>', page)


def test_rows_are_checked_though_a_column_is_missing() -> None:
    study, client = draft()
    bad = "sample_id,resp_0,label_value,label_name\n1,a,much,temp\n2,b,0.5,\n"
    page = send(client, study, "bad.csv", bad, follow=True).content.decode()
    assert problems_in(page) == [
        ("all", "context"), ("all", "resp_1"), ("1", "label_value"), ("2", "label_name"),
    ]  # fmt: skip


def test_rows_are_checked_though_two_columns_have_one_name() -> None:
    study, client = draft()
    bad = "sample_id,context,resp_0,resp_1,resp_1,label_value,label_name\n1,,a,b,c,much,temp\n"
    page = send(client, study, "bad.csv", bad).content.decode()
    assert problems_in(page) == [("all", "resp_1"), ("1", "context"), ("1", "label_value")]


def test_rows_of_the_general_reader_are_checked_though_a_column_is_missing() -> None:
    study = make_study(task_type="quality", live=False, items=0)
    bad = "sample_id,text,system,role\na,A text.,one,\nb,,two,boss\na,More.,three,\n"
    page = send(as_role("editor", study), study, "bad.csv", bad, follow=True).content.decode()
    assert problems_in(page) == [("all", "context"), ("2", "text"), ("2", "role"), ("3", "sample_id")]


def test_right_answers_are_checked_though_another_column_names_no_question() -> None:
    study = make_study(task_type="quality", live=False, items=0)
    bad = "sample_id,context,text,system,gold:quality,gold:taste\na,C,A text.,one,9,\nb,C,T,two,,3\n"
    page = send(as_role("editor", study), study, "bad.csv", bad).content.decode()
    assert problems_in(page) == [("all", "gold:taste"), ("1", "gold:quality")]


def test_right_answers_are_checked_though_a_column_is_missing() -> None:
    study = make_study(task_type="quality", live=False, items=0)
    bad = "sample_id,text,system,gold:quality\na,A text.,one,9\n"
    page = send(as_role("editor", study), study, "bad.csv", bad, follow=True).content.decode()
    assert problems_in(page) == [("all", "context"), ("1", "gold:quality")]
