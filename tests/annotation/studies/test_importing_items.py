"""Importing items from files into drafts: all of them or none."""

import csv
import io
import time
from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DatabaseError, OperationalError, connection

from annotation.models import AuditEntry, Item, Study
from annotation.studies import importing_items
from annotation.studies.importing_items import import_items, settings_read_otherwise
from annotation.studies.launching import publish
from annotation.studies.storing import Frozen, change_study
from annotation.table_files import Table, TableProblems, read_table
from annotation.task_types.items import ItemData, Row
from tests.factories import make_study
from tests.services import ROOT

pytestmark = pytest.mark.django_db

HEADER = ["sample_id", "context", "resp_0", "resp_1"]


def table(rows: Iterable[Iterable[str]], header: list[str] = HEADER) -> Table:
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return read_table(io.BytesIO(out.getvalue().encode()), name="sets.csv")


def sets(count: int) -> Table:
    return table([f"s{number}", f"context {number}", "one thing", "another"] for number in range(count))


def draft(**values: Any) -> Study:
    return make_study(items=0, live=False, **values)


def ids(study: Study) -> list[str]:
    return list(study.items.values_list("external_id", flat=True))


def test_items_keep_the_files_order_and_the_import_is_recorded() -> None:
    study = draft()
    seen: list[int] = []
    assert import_items(study=study, table=sets(3), actor="ann", progress=seen.append) == 3
    assert list(study.items.values_list("position", "external_id")) == [(0, "s0"), (1, "s1"), (2, "s2")]
    assert study.items.get(external_id="s1").payload["responses"] == ["one thing", "another"]
    assert sum(seen) == 3
    entry = AuditEntry.objects.get(study=study, action="import items")
    assert entry.actor == "ann"
    assert entry.detail == {"file": "sets.csv", "rows": 3, "old": 0, "new": 3}


def test_items_remember_the_rows_they_were_read_from() -> None:
    study = draft(task_type="rnk_hds")
    rows = [["s0", "context", "one", "two"], ["s0", "context", "three", "four"]]
    import_items(study=study, table=table(rows), actor="ann")
    item = study.items.get()
    assert (item.source, item.role) == ({"file": "sets.csv", "rows": [1, 2]}, "main")


def test_another_file_replaces_all_items_of_a_draft() -> None:
    study = draft()
    import_items(study=study, table=sets(3), actor="ann")
    import_items(study=study, table=table([["only", "c", "a", "b"]]), actor="ann")
    assert ids(study) == ["only"]


def test_every_problem_of_every_row_is_reported_and_nothing_is_imported() -> None:
    study = draft()
    import_items(study=study, table=sets(2), actor="ann")
    bad = table([["", "c", "a", "b"], ["s1", "", "a", "b"], ["s2", "c", "a", ""], ["s3", "c", "a", "b"]])
    with pytest.raises(TableProblems) as caught:
        import_items(study=study, table=bad, actor="ann")
    assert [(found.row, found.column) for found in caught.value.problems] == [
        (1, "sample_id"),
        (2, "context"),
        (3, "resp_1"),
    ]
    assert all(found.what and found.fix for found in caught.value.problems)
    assert ids(study) == ["s0", "s1"]


def test_ids_that_no_column_holds_are_refused() -> None:
    with pytest.raises(TableProblems, match="1 problem"):
        import_items(study=draft(), table=table([["x" * 201, "c", "a", "b"]]), actor="ann")


class Careless:
    """A task type that checks nothing: its items have the ids ``names``."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def read_items(self, rows: list[Row], config: dict[str, Any]) -> tuple[list[ItemData], list[Any]]:
        return [ItemData(name, {}) for name in self.names], []

    def columns(self, config: dict[str, Any]) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), ["There are no items in this file."]),
        (("a", " "), ["An item has no id."]),
        (("a" * 201,), [f"The id “{'a' * 40}…” is 201 characters long."]),
        (("a\x00", "b"), ["The id 'a\\x00' contains a control character."]),
        (("", "a", "b", "a"), ["An item has no id.", "2 items have the id “a”."]),
    ],
)
def test_duplicate_ids_from_a_task_type_are_caught(names: tuple[str, ...], says: list[str]) -> None:
    with (
        patch.object(importing_items, "get_type", return_value=Careless(*names)),
        pytest.raises(TableProblems) as caught,
    ):
        import_items(study=draft(), table=sets(1), actor="ann")
    assert [found.what for found in caught.value.problems] == says
    assert not Item.objects.exists()


def test_a_study_that_has_left_draft_keeps_its_items() -> None:
    study = make_study(items=2)
    with pytest.raises(Frozen) as caught:
        import_items(study=study, table=sets(3), actor="ann")
    assert [problem.where for problem in caught.value.problems] == ["items"]
    assert study.items.count() == 2


def test_a_study_published_while_the_file_was_read_keeps_its_items() -> None:
    study = draft()
    import_items(study=study, table=sets(2), actor="ann")
    stale = Study.objects.get(pk=study.pk)
    publish(study=study, actor="ann")
    assert stale.status == "draft"
    with pytest.raises(Frozen):
        import_items(study=stale, table=sets(3), actor="bob")
    assert ids(study) == ["s0", "s1"]


def test_settings_changed_while_the_file_was_read_stop_the_import() -> None:
    study = draft()
    change_study(study=study, config=study.config | {"empty_responses": "drop"}, actor="bob")
    with pytest.raises(TableProblems) as caught:
        import_items(study=study, table=sets(2), actor="ann")
    assert "changed the study's type or settings" in caught.value.problems[0].what


def test_only_settings_that_decide_how_a_file_is_read_require_a_new_import() -> None:
    study = draft()
    import_items(study=study, table=sets(2), actor="ann")
    study = change_study(study=study, config=study.config | {"max_words": 20}, actor="ann")
    assert settings_read_otherwise(study) == {}
    study = change_study(study=study, config=study.config | {"empty_responses": "drop"}, actor="ann")
    assert settings_read_otherwise(study) == {"empty_responses": ("keep", "drop")}
    import_items(study=study, table=sets(2), actor="ann")
    study.refresh_from_db()
    assert settings_read_otherwise(study) == {}


def test_a_disk_that_fills_up_in_the_middle_leaves_the_old_items(monkeypatch: pytest.MonkeyPatch) -> None:
    study = draft()
    import_items(study=study, table=sets(2), actor="ann")
    monkeypatch.setattr(importing_items, "BATCH", 10)
    done: list[int] = []

    def fail(count: int) -> None:
        done.append(count)
        if len(done) == 2:
            raise OperationalError("database or disk is full")

    with pytest.raises(OperationalError):
        import_items(study=study, table=sets(30), actor="ann", progress=fail)
    assert done == [10, 10]
    assert ids(study) == ["s0", "s1"]
    assert AuditEntry.objects.filter(study=study).count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite alone can be told how large it may grow")
def test_a_database_that_really_is_full_keeps_the_old_items() -> None:
    study = draft()
    import_items(study=study, table=sets(2), actor="ann")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # tests before this one may have left free pages in the file
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages + 5}")
    try:
        with pytest.raises(DatabaseError, match="full"):
            import_items(study=study, table=sets(2_000), actor="ann")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert ids(study) == ["s0", "s1"]


def test_20_000_rows_need_seconds_and_not_a_query_each(django_assert_max_num_queries: Any) -> None:
    study = draft()
    big = sets(20_000)
    start = time.process_time()
    with django_assert_max_num_queries(150):
        assert import_items(study=study, table=big, actor="ann") == 20_000
    assert time.process_time() - start < 20
    assert Item.objects.filter(study=study).count() == 20_000


def test_the_sample_sets_can_be_imported_by_the_types_that_read_sets() -> None:
    path = ROOT / "examples" / "sets.csv"
    counts = {}
    for task_type in ("abs_hds", "rnk_hds"):
        with path.open("rb") as file:
            counts[task_type] = import_items(
                study=draft(task_type=task_type), table=read_table(file, name=path.name), actor="ann"
            )
    assert counts == {"abs_hds": 30, "rnk_hds": 15}
