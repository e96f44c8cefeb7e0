"""Importing items in the browser, and looking at them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from annotation.models import Item, Review, Study
from annotation.task_types.base import Row
from annotation.task_types.registry import get_type
from tests.annotation.console_helpers import as_role
from tests.factories import default_config, make_participant, make_study, make_submission

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
    assert "sample_id, context, resp_0" in page
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
    assert "The first 2, as read from the file" in page


def test_another_file_takes_the_place_of_the_items() -> None:
    study, client = draft(items=5)
    send(client, study, "items.csv", GOOD)
    assert ids(study) == ["1", "2"]


def test_all_problems_stand_in_one_table_and_nothing_is_imported() -> None:
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
        ("notes.pdf", b"%PDF-1.7", "is no kind of file that can be read"),
        ("noending", b"a,b\n1,2\n", "is no kind of file that can be read"),
        ("empty.csv", b"", "This file is empty."),
        ("header.csv", b"sample_id,context,resp_0,resp_1\n", "no data rows"),
        ("latin.csv", "sample_id,context,resp_0,resp_1\n1,Caf\xe9,a,b\n".encode("latin-1"), "Not UTF-8"),
        ("nul.csv", b"sample_id,context,resp_0,resp_1\n1,Hi,a\x00,b\n", "problem"),
        ("wrong.csv", b"id,text\n1,hello\n", "sample_id is missing"),
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
    assert "No file was chosen." in response.content.decode()


def test_a_file_over_the_limit_is_refused(settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 100
    study, client = draft()
    response = send(client, study, "large.csv", GOOD + "3,Hi,a,b,web\n" * 20)
    assert response.status_code in (413, 422)
    assert not ids(study)


def test_the_items_of_a_live_study_stay() -> None:
    study = make_study(items=2)
    client = as_role("editor", study)
    before = ids(study)
    response = send(client, study, "items.csv", GOOD, follow=True)
    assert "cannot be changed" in response.content.decode()
    assert ids(study) == before


# --- looking at items ---


def page_of_items(client: Client, study: Study, **query: object) -> str:
    return str(client.get(reverse("console_items", args=[study.slug]), query).content.decode())


@pytest.mark.parametrize("text", ["s2", "S2", "flowers", "Café closes", 'say "no"', "日本", "100%"])
def test_items_are_found_by_id_and_by_text(text: str) -> None:
    contexts = ["My bike", "Cut flowers", "What?", 'They say "no" loudly', "Der Café closes", "日本の話", "At 100% now"]
    rows = [
        Row(number, {"sample_id": f"s{number}", "context": context, "resp_0": "a", "resp_1": "b"})
        for number, context in enumerate(contexts)
    ]
    task = get_type("abs_hds")
    study = make_study(live=False, payloads=task.read_items(rows, default_config(task))[0])
    page = page_of_items(as_role("viewer", study), study, q=text)
    assert "1 item with" in page


@pytest.mark.parametrize("text", ["%", "_", "\\", "nothing like this", "\x00"])
def test_a_search_that_finds_nothing_or_everything_is_no_error(text: str) -> None:
    study = make_study(items=2)
    response = as_role("viewer", study).get(reverse("console_items", args=[study.slug]), {"q": text})
    assert response.status_code == 200


@pytest.mark.parametrize("number", ["0", "-1", "abc", "9999999999999", ""])
def test_a_page_that_is_not_there_shows_one_that_is(number: str) -> None:
    study = make_study(items=3)
    assert "3 items" in page_of_items(as_role("viewer", study), study, page=number)


def test_an_item_shows_its_texts_and_its_ratings_by_pseudonym_alone() -> None:
    study = make_study(items=1, ratings_per_item=3)
    worker = make_participant(study=study, name="alice@example.org")
    make_submission(study=study, participant=worker)
    robot = make_participant(study=study, synthetic=True)
    make_submission(study=study, participant=robot, seed=2)
    item = Item.objects.get(study=study)
    page = as_role("viewer", study).get(reverse("console_item", args=[study.slug, item.pk])).content.decode()
    assert item.payload["context"] in page
    assert worker.pseudonym in page
    assert "alice" not in page
    assert "2 of 3 workers" in page
    assert "1 simulated" in page


def test_the_score_of_an_item_is_the_mean_of_its_ratings() -> None:
    # 5 and 2 on the diversity question: mean 3.50, s.d. 2.12 (3/√2).
    study = make_study(items=1, ratings_per_item=3)
    for value in (5.0, 2.0):
        submission = make_submission(study=study)
        # Ratings are derived and protected from change, so this one is written anew.
        rating = submission.ratings.get(question="diversity")
        rating.delete()
        rating.pk, rating.value = None, value
        rating.save(force_insert=True)
    page = page_of_items(as_role("viewer", study), study)
    assert ">3.50<" in page
    assert ">2.12<" in page


def test_the_score_of_an_item_leaves_excluded_submissions_out() -> None:
    study = make_study(items=1, ratings_per_item=2)
    kept, left_out = make_submission(study=study, seed=1), make_submission(study=study, seed=2)
    Review.objects.create(submission=left_out, decision="include")
    Review.objects.create(submission=left_out, decision="exclude")
    value = kept.ratings.get(question="diversity").value
    page = page_of_items(as_role("viewer", study), study)
    assert f'mean">{value:.2f}<' in page
    assert 's.d.">–<' in page


def test_a_column_called_items_is_shown_like_any_other() -> None:
    study, client = draft()
    content = GOOD.replace("source", "items")
    send(client, study, "items.csv", content)
    item = Item.objects.filter(study=study).first()
    assert item
    page = client.get(reverse("console_item", args=[study.slug, item.pk])).content.decode()
    assert "<dt>items</dt><dd>web</dd>" in page


# --- the number of queries does not grow ---


@pytest.mark.parametrize("name", ["console_items", "console_upload", "console_item"])
def test_queries_do_not_grow_with_items_and_ratings(
    name: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    counts = []
    for number in (2, 20):
        items = 1 if name == "console_item" else number
        study = make_study(items=items, live=name != "console_upload", ratings_per_item=number)
        for seed in range(0 if name == "console_upload" else number):
            make_submission(study=study, seed=seed)
        client = as_role("editor", study)
        item = Item.objects.filter(study=study).order_by("position").first()
        assert item
        url = reverse(name, args=[study.slug, item.pk] if name == "console_item" else [study.slug])
        client.get(url)
        with django_assert_max_num_queries(20) as seen:
            client.get(url)
        counts.append(len(seen))
    assert counts[0] == counts[1]
