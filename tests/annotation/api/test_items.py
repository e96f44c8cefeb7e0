"""Items through the API: read, uploaded as rows and as files, and made from runs and other studies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Item, Membership, Study
from generation.models import GenerationRun
from tests.annotation.api_helpers import problem_of, reasons_of, send
from tests.annotation.console_helpers import as_role, signed_in
from tests.factories import make_researcher, make_study, make_submission
from tests.generation.support.finished_runs import make_run

NO_ITEM = "This study has no item “c”. Ids are those of the items file."
pytestmark = pytest.mark.django_db

ROWS = [{"sample_id": "a", "text": "One day."}, {"sample_id": "b/1", "text": "Two days."}]


@pytest.fixture
def draft() -> Study:
    return make_study(task_type="likert", items=0, live=False)


@pytest.fixture
def client(draft: Study) -> Client:
    return as_role("editor", draft)


def upload(client: Client, study: Study, name: str, content: bytes, **fields: str) -> Any:
    file = SimpleUploadedFile(name, content)
    return client.post(reverse("api_items", args=[study.slug]), {"file": file, **fields})


def ids(study: Study) -> list[str]:
    return list(study.items.order_by("position").values_list("external_id", flat=True))


def test_rows_replace_the_items_of_a_draft(client: Client, draft: Study) -> None:
    answer = send(client, "post", "api_items", draft, body={"rows": ROWS}).json()
    assert (answer["items"], answer["dry_run"], answer["left_out"]) == (2, False, 0)
    assert ids(draft) == ["a", "b/1"]
    send(client, "post", "api_items", draft, body={"rows": ROWS[1:]})
    assert ids(draft) == ["b/1"]
    assert AuditEntry.objects.filter(study=draft, action="import items").count() == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.csv", "sample_id,text\na,One day.\nb,Two days.\n"),
        ("items.tsv", "sample_id\ttext\na\tOne day.\nb\tTwo days.\n"),
        ("items.jsonl", '{"sample_id": "a", "text": "One day."}\n{"sample_id": "b", "text": "Two days."}\n'),
    ],
)
def test_a_file_replaces_the_items(name: str, content: str, client: Client, draft: Study) -> None:
    assert upload(client, draft, name, content.encode()).json()["items"] == 2
    assert ids(draft) == ["a", "b"]
    assert Item.objects.filter(source__file=name).count() == 2


def test_a_mapping_gives_columns_the_names_of_the_task_type(client: Client, draft: Study) -> None:
    rows = [{"id": "a", "output": "One day."}]
    mapping = {"id": "sample_id", "output": "text"}
    assert send(client, "post", "api_items", draft, body={"rows": rows, "mapping": mapping}).json()["items"] == 1
    content = b"id;output\nb;Two days.\nc;Three days.\n"
    assert upload(client, draft, "items.csv", content, mapping=json.dumps(mapping)).json()["items"] == 2
    assert ids(draft) == ["b", "c"] and draft.items.get(external_id="c").payload["text"] == "Three days."


def test_a_file_is_read_in_the_encoding_that_the_program_names(client: Client, draft: Study) -> None:
    content = "sample_id,text\na,Café.\n".encode("windows-1252")
    refused = reasons_of(upload(client, draft, "items.csv", content), 422)
    assert "windows-1252" in refused["items"].lower()
    assert upload(client, draft, "items.csv", content, encoding="windows-1252").json()["items"] == 1
    assert draft.items.get().payload["text"] == "Café."


@pytest.mark.parametrize(
    ("fields", "name"), [({"mapping": "no object"}, "mapping"), ({"mapping": '{"nothing": "text"}'}, "items")]
)
def test_a_mapping_that_fits_nothing_is_refused(
    fields: dict[str, str], name: str, client: Client, draft: Study
) -> None:
    reasons = reasons_of(upload(client, draft, "items.csv", b"sample_id,text\na,One day.\n", **fields), 422)
    assert set(reasons) == {name} and ids(draft) == []


def test_rows_may_be_larger_than_a_workers_page(client: Client, draft: Study, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    rows = [{"sample_id": "a", "text": "One day. " * 200}]
    assert send(client, "post", "api_items", draft, body={"rows": rows}).json()["items"] == 1


def test_a_dry_run_of_an_upload_leaves_the_items(client: Client, draft: Study) -> None:
    answer = send(client, "post", "api_items", draft, body={"rows": ROWS}, dry_run="true").json()
    assert (answer["items"], answer["dry_run"]) == (2, True)
    assert ids(draft) == []


def test_all_problems_of_a_file_come_with_row_and_column(client: Client, draft: Study) -> None:
    response = upload(client, draft, "items.csv", b"sample_id,text\na,\na,Two days.\n")
    errors = problem_of(response, 422)["errors"]
    assert (1, "text") in {(error["row"], error["column"]) for error in errors}
    assert all(error["reason"] and error["fix"] for error in errors)
    assert ids(draft) == []


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({}, "rows", "It is missing."),
        ({"rows": "a"}, "rows", "It is not a list."),
        ({"rows": []}, "items", "The file is empty."),
        ({"rows": [{"sample_id": ["a"]}]}, "items", "The value is a list."),
    ],
)
def test_rows_that_are_none_are_refused(body: Any, field: str, reason: str, client: Client, draft: Study) -> None:
    assert reasons_of(send(client, "post", "api_items", draft, body=body), 422)[field].startswith(reason)


def test_a_form_without_a_file_and_a_file_of_another_kind_are_refused(client: Client, draft: Study) -> None:
    response = client.post(reverse("api_items", args=[draft.slug]), {"text": "x"})
    assert reasons_of(response, 422) == {"file": "The form has no file. Send the file in a part called “file”."}
    response = upload(client, draft, "items.pdf", b"x")
    assert reasons_of(response, 422)["items"].startswith("“items.pdf” is not a supported file type.")


def test_items_of_a_launched_study_are_locked() -> None:
    study = make_study(task_type="likert", items=1)
    reasons = reasons_of(send(as_role("owner", study), "post", "api_items", study, body={"rows": ROWS}), 409)
    assert reasons["items"].startswith("The study has been launched, so its items are locked.")


def test_one_item_is_found_by_its_id(client: Client, draft: Study) -> None:
    send(client, "post", "api_items", draft, body={"rows": ROWS})
    assert send(client, "get", "api_item", draft, "b/1").json()["columns"]["text"] == "Two days."
    assert problem_of(send(client, "get", "api_item", draft, "c"), 404)["detail"] == NO_ITEM


def test_items_are_found_by_their_text(client: Client, draft: Study) -> None:
    send(client, "post", "api_items", draft, body={"rows": ROWS})
    answer = send(client, "get", "api_items", draft, q="two days").json()
    assert ([item["item"] for item in answer["results"]], answer["count"]) == (["b/1"], 1)


def test_items_come_from_a_run_of_the_user_alone(client: Client) -> None:
    draft = make_study(task_type="abs_hds", items=0, live=False)
    ann = make_researcher("ann")
    Membership.objects.create(study=draft, user=ann, role="editor")
    make_run({"greedy": [["one", "two", "three", "four", "five"]]}, name="sweep")
    GenerationRun.objects.update(created_by="bob")
    reasons = reasons_of(send(signed_in(ann), "post", "api_items_from_run", draft, body={"run": "sweep"}), 422)
    assert reasons == {"run": "There is no “sweep”. There are none."}
    GenerationRun.objects.update(created_by="ann")
    response = send(signed_in(ann), "post", "api_items_from_run", draft, body={"run": "sweep", "options": {"x": 1}})
    assert reasons_of(response, 422)["items.x"].startswith("There is no “x”.")


def test_items_come_from_the_outputs_of_a_study_that_the_user_sees() -> None:
    source, judging = make_study(task_type="mil_story", items=1), make_study(task_type="likert", items=0, live=False)
    make_submission(study=source)
    ann: User = make_researcher("ann")
    Membership.objects.create(study=judging, user=ann, role="editor")
    client = signed_in(ann)
    reasons = reasons_of(send(client, "post", "api_items_from_study", judging, body={"study": source.slug}), 422)
    assert reasons["items.from_study"].startswith(f"There is no study “{source.slug}”")
    Membership.objects.create(study=source, user=ann, role="viewer")
    body = {"study": source.slug, "follow": True}
    answer = send(client, "post", "api_items_from_study", judging, body=body).json()
    assert answer["items"] == judging.items.count() > 0
    assert send(client, "put", "api_feed", judging, body={"follow": False}).json() == {"follow": False}
    make_submission(study=source)
    assert send(client, "post", "api_feed", judging).json()["items"] == 2 * answer["items"]
    Membership.objects.filter(study=source).delete()
    detail = problem_of(send(client, "post", "api_feed", judging), 404)["detail"]
    assert detail == "The study that these items come from does not exist, or you may not see it."


def test_a_study_whose_items_come_from_a_file_takes_no_outputs(client: Client, draft: Study) -> None:
    reasons = reasons_of(send(client, "post", "api_feed", draft), 422)
    assert reasons["items"].startswith(f"The items of {draft.slug} do not come from another study.")
