"""Bundles are read back exactly, and unsafe or altered ones are refused."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from analysis import archive
from analysis.archive import MEGABYTE
from analysis.data import (
    BundleError,
    StudyData,
    make_study_data,
    read_bundle,
    write_bundle,
    write_bundle_folder,
    write_bundle_tables,
)
from analysis.description_json import DescriptionError, description_from_json, description_to_json
from analysis.report import report_numbers
from analysis.study_tables import TABLES
from tests.analysis.support.studies import LIKERT, NOON, RNK_HDS, Values, a_pair, a_set, arm, describe, study_data

NASTY = 'A "quoted", text\r\nwith\rlines;\ttabs, =1+1, \x00 nought, שלום 🙂 and \u2028 more'
VALUES: Values = {
    (f"i{at}", worker): value
    for worker, row in (("x", (0.1 + 0.2, 1e-300, 1 / 3)), ("y", (2.0, 1e16, -0.1)))
    for at, value in enumerate(row)
}


def a_study() -> StudyData:
    items = [
        a_set("i0", label=1 / 3, responses=[NASTY, ""], metrics={"metric_x": 0.1, "metric_y": math.nan}),
        a_set("i1", context=NASTY, role="gold", cells={NASTY: NASTY}),
        a_set("i2", texts=[], responses=[]),
    ]
    return study_data(
        items,
        VALUES,
        texts={("i0", "z"): {"own": [NASTY, "NA", "  "]}},
        synthetic=["y"],
        excluded=[2],
        flags=[(1, NASTY)],
        arm_of={"x": "a"},
        arms=(arm("a", "0.30", wanted=2, config={"n": [1, None]}, texts={"consent": NASTY}), arm("b")),
        wording=[("Consent", NASTY)],
        live_at=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=2))),
    )


def a_zip(data: StudyData, path: Path) -> Path:
    with path.open("wb") as file:
        write_bundle(data, file)
    return path


def same(left: StudyData, right: StudyData) -> None:
    assert left.description == right.description
    for name in ("items", "submissions", "all_ratings", "flags", "ratings"):
        pd.testing.assert_frame_equal(getattr(left, name), getattr(right, name), check_exact=True)


def test_a_zip_comes_back_exactly(tmp_path: Path) -> None:
    same(a_study(), read_bundle(a_zip(a_study(), tmp_path / "pilot.zip")))


def test_a_folder_comes_back_exactly(tmp_path: Path) -> None:
    write_bundle_folder(a_study(), tmp_path / "new" / "pilot")
    same(a_study(), read_bundle(tmp_path / "new" / "pilot"))


def test_an_empty_study_comes_back(tmp_path: Path) -> None:
    same(study_data([]), read_bundle(a_zip(study_data([]), tmp_path / "empty.zip")))


def test_the_same_data_give_the_same_bytes(tmp_path: Path) -> None:
    assert a_zip(a_study(), tmp_path / "a").read_bytes() == a_zip(a_study(), tmp_path / "b").read_bytes()


def test_the_report_of_a_bundle_has_the_same_numbers(tmp_path: Path) -> None:
    items = [a_pair(f"p{at}", labels) for at, labels in enumerate([(0.3, 0.6), (0.9, 0.6), (0.6, 0.9), (1.2, 0.1)])]
    values: Values = {
        (f"p{at}", worker): 1 + (at * 3 + len(worker)) % 5 for at in range(4) for worker in ("x", "yy", "zzz")
    }
    data = study_data(items, values, **RNK_HDS)

    live = report_numbers(data, draws=50, made_at=NOON)

    assert report_numbers(read_bundle(a_zip(data, tmp_path / "b.zip")), draws=50, made_at=NOON) == live


def test_counts_are_made_here_and_not_trusted() -> None:
    data = a_study()
    # Submission 2 is left out; the answers in words of submission 7 count, once.
    assert data.items.set_index("item")["n"].to_dict() == {"i0": 3, "i1": 1, "i2": 2}
    assert (data.excluded, data.synthetic, len(data.used)) == (1, 3, 6)
    assert data.ratings["arm"].tolist()[0] == "a"
    assert 2 not in data.ratings["submission"].tolist() and 2 in data.all_ratings["submission"].tolist()


def test_records_may_be_mappings() -> None:
    row = {"submission": 1, "reason": "copied", "detail": "", "value": 0.95, "threshold": 0.9}
    data = make_study_data(describe(), items=[], submissions=[], ratings=[], flags=[row])
    assert data.flags.to_dict("records") == [row]


def test_only_tables_of_a_study_are_taken() -> None:
    with pytest.raises(TypeError, match="knows no table flag"):
        make_study_data(describe(), items=[], submissions=[], ratings=[], flag=[])


def test_a_study_has_a_frame_for_each_table() -> None:
    frames = [field.name for field in dataclasses.fields(StudyData) if field.name != "description"]
    assert sorted(frames) == sorted(table.attribute for table in TABLES.values())


# --- what is wrong with a bundle ---


def changed(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A bundle whose files ``change`` has altered."""
    with zipfile.ZipFile(a_zip(a_study(), path)) as made:
        files = {name: made.read(name) for name in made.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w") as out:
        for name, content in files.items():
            out.writestr(name, content)
    return path


def head(**values: object) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files["study.json"] = json.dumps(json.loads(files["study.json"]) | values).encode()

    return change


def replaced(name: str, old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        assert old.encode() in files[name]
        files[name] = files[name].replace(old.encode(), new.encode(), 1)

    return change


@pytest.mark.parametrize("name", ["items.csv", "submissions.csv", "ratings.csv", "flags.csv", "study.json"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=f"{name} is missing"):
        read_bundle(changed(tmp_path / "b.zip", lambda files: files.__delitem__(name)))


def test_edited_rows_are_refused_unless_accepted(tmp_path: Path) -> None:
    edited = changed(tmp_path / "b.zip", replaced("ratings.csv", "0.30000000000000004", "4.5"))

    with pytest.raises(BundleError, match=r"ratings\.csv was changed since the bundle was written.*--accept-edited"):
        read_bundle(edited)
    assert read_bundle(edited, accept_edited=True).all_ratings["value"].iloc[0] == 4.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (head(version=2), "has version 2; this program reads version 1"),
        (head(version=None), "has version None"),
        (head(format="something"), "its format is not “hitserver-bundle”"),
        (head(files=[1]), "files is not a list of files"),
        (head(files={"items.csv": 1}), "files is not a list of files"),
        (head(study={}), "study.json: study.slug is missing"),
        (head(study=None), "study is not an object"),
        (lambda files: files.update({"study.json": b"{"}), "study.json is not JSON"),
        (lambda files: files.update({"study.json": b"[" * 200_000}), "study.json is not JSON"),
        (lambda files: files.update({"study.json": b"[]"}), "its format is not"),
    ],
)
def test_a_wrong_study_file_is_named(change: Callable[[dict[str, bytes]], None], message: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=message):
        read_bundle(changed(tmp_path / "b.zip", change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced("ratings.csv", "value", "worth"), "ratings.csv lacks the column value"),
        (replaced("ratings.csv", "0.30000000000000004", "much"), "ratings.csv, row 1, value is 'much', not a number"),
        (replaced("ratings.csv", "0.30000000000000004", "1_0"), "value is '1_0', not a number"),
        (replaced("ratings.csv", "1,i0,", "77,i0,"), "ratings.csv, row 1: there is no submission 77"),
        (replaced("ratings.csv", "1,i0,", "1,i9,"), "ratings.csv, row 1: there is no item “i9”"),
        (replaced("ratings.csv", "0.30000000000000004,", ""), "ratings.csv, row 1 has 7 cells, the header 8"),
        (replaced("submissions.csv", "false", "maybe"), "synthetic is 'maybe', not true or false"),
        (replaced("submissions.csv", "+00:00", ""), "received_at is .* not a moment with its time zone"),
        (replaced("submissions.csv", "\r\n2,", "\r\n1,"), "submissions.csv holds one submission twice"),
        (replaced("items.csv", "i2", "i0"), "items.csv holds one item twice"),
        (replaced("items.csv", ",20,", ",20.5,"), "wanted is '20.5', not a whole number"),
        (replaced("items.csv", "[]", "[1]"), "texts is .* not a JSON list of lists of texts"),
        (replaced("items.csv", "[]", "[" * 9000), "texts is .* not a JSON list of lists of texts"),
        (replaced("flags.csv", "1,", '1,"'), "flags.csv is not valid CSV"),
        (lambda files: files.update({"items.csv": b"\xff\xfe"}), "items.csv is not UTF-8"),
        (lambda files: files.update({"items.csv": b""}), "items.csv lacks the columns item, role"),
    ],
)
def test_a_wrong_cell_is_named(change: Callable[[dict[str, bytes]], None], message: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=message):
        read_bundle(changed(tmp_path / "b.zip", change), accept_edited=True)


def test_columns_can_be_in_another_order_and_others_can_be_added(tmp_path: Path) -> None:
    def shuffle(files: dict[str, bytes]) -> None:
        rows = list(csv.reader(io.StringIO(files["flags.csv"].decode(), newline="")))
        out = io.StringIO(newline="")
        csv.writer(out).writerows([[*reversed(row), "more"] for row in rows])
        files["flags.csv"] = b"\xef\xbb\xbf" + out.getvalue().encode()

    found = read_bundle(changed(tmp_path / "b.zip", shuffle), accept_edited=True)
    pd.testing.assert_frame_equal(found.flags, a_study().flags)


# --- what is wrong with the archive ---


def test_files_that_are_not_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="there is no such file or folder"):
        read_bundle(tmp_path / "nothing.zip")
    (tmp_path / "text.zip").write_text("hello")
    with pytest.raises(BundleError, match="neither a folder nor a valid zip archive"):
        read_bundle(tmp_path / "text.zip")
    with pytest.raises(BundleError, match=r"study\.json is missing: this is not a bundle"):
        read_bundle(tmp_path)


@pytest.mark.parametrize("name", ["../evil.csv", "a/../../evil", "/etc/passwd", "..\\evil", "C:\\evil", "\\evil"])
def test_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    path = changed(tmp_path / "b.zip", lambda files: files.update({name: b"x"}))
    with pytest.raises(BundleError, match="leads out of it"):
        read_bundle(path)
    assert [each.name for each in tmp_path.iterdir()] == ["b.zip"]


def test_links_are_refused(tmp_path: Path) -> None:
    path = a_zip(a_study(), tmp_path / "b.zip")
    link = zipfile.ZipInfo("media")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as out:
        out.writestr(link, "/etc/passwd")
    with pytest.raises(BundleError, match="holds a link, “media”"):
        read_bundle(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = a_zip(a_study(), tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("ratings.csv", "submission")
    with pytest.raises(BundleError, match=r"holds “ratings\.csv” twice"):
        read_bundle(path)


def a_bomb(path: Path, megabytes: int) -> Path:
    """A bundle whose ratings unpack to this many megabytes of zeros."""
    files = {}

    def take(found: dict[str, bytes]) -> None:
        files.update(found)

    changed(path, take)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            if name != "ratings.csv":
                out.writestr(name, content)
        with out.open("ratings.csv", "w", force_zip64=True) as file:
            for _ in range(megabytes):
                file.write(bytes(MEGABYTE))
    return path


def bounded(path: Path, message: str) -> None:
    """Reading is refused within two seconds of processor time and 100 MB."""
    tracemalloc.start()
    started = time.process_time()
    with pytest.raises(BundleError, match=message):
        read_bundle(path, accept_edited=True)
    assert time.process_time() - started < 2
    assert tracemalloc.get_traced_memory()[1] < 100 * MEGABYTE
    tracemalloc.stop()


@pytest.fixture(scope="module")
def gigabyte(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_bomb(tmp_path_factory.mktemp("bombs") / "gigabyte.zip", 1024)


def test_a_gigabyte_of_zeros_is_not_unpacked(gigabyte: Path) -> None:
    assert gigabyte.stat().st_size < 2 * MEGABYTE
    bounded(gigabyte, "ratings.csv has 1,024 MB unpacked; all files together may have 512 MB")


def test_less_than_the_limit_is_refused_where_no_data_shrink_like_that(tmp_path: Path) -> None:
    bounded(a_bomb(tmp_path / "b.zip", 300), "ratings.csv unpacks to 1,0.. times its size")


def test_a_false_size_is_detected(gigabyte: Path, tmp_path: Path) -> None:
    # According to the archive's central directory, the file has 1,000 bytes both packed and unpacked.
    content = bytearray(gigabyte.read_bytes())
    place = content.rfind(b"PK\x01\x02", 0, content.rfind(b"ratings.csv"))
    content[place + 20 : place + 28] = struct.pack("<II", 1000, 1000)
    path = tmp_path / "lie.zip"
    path.write_bytes(content)
    bounded(path, "nor a valid zip archive|damaged")


def test_files_of_a_folder_have_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle_folder(a_study(), tmp_path / "b")
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    with pytest.raises(BundleError, match="all files together may have"):
        read_bundle(tmp_path / "b")


def test_damaged_and_encrypted_archives(tmp_path: Path) -> None:
    path = a_zip(a_study(), tmp_path / "b.zip")
    content = bytearray(path.read_bytes())
    content[content.find(b"study.json") + 60] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BundleError, match=r"damaged|nor a valid zip archive"):
        read_bundle(path)
    content = bytearray(a_zip(a_study(), path).read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + place] |= 1
    path.write_bytes(content)
    with pytest.raises(BundleError, match="cannot be unpacked"):
        read_bundle(path)


# --- the description ---


def test_a_description_comes_back_with_its_types() -> None:
    told = describe(**LIKERT, live_at=datetime(2026, 1, 1, tzinfo=UTC), assignments={"submitted": 3}, hits_per_worker=4)
    found = description_from_json(json.loads(json.dumps(description_to_json(told))))
    assert found == told
    assert isinstance(found.reward, Decimal)
    assert found.questions[0].scale.points[0].label == "Strongly disagree"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("reward", "ten", "study.reward is 'ten', not an amount"),
        ("reward", 1, "study.reward is not text"),
        ("seed", True, "study.seed is not a whole number"),
        ("seed", "7", "study.seed is not a whole number"),
        ("live_at", "yesterday", "study.live_at is 'yesterday', not a moment"),
        ("scores", [{"topic": "x", "title": "y", "sign": 2}], r"study.scores\[0\].sign is '2', not one of 1, -1"),
        (
            "questions",
            [{"topic": "x", "label": "y", "scale": {"name": "n", "level": "odd"}}],
            "level is 'odd', not one",
        ),
        ("texts", [["one"]], r"study.texts\[0\] has 1 entries, not 2"),
        ("arms", {}, "study.arms is not a list"),
        ("config", [], "study.config is not an object"),
    ],
)
def test_a_wrong_description_is_named(field: str, value: object, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        description_from_json(description_to_json(describe()) | {field: value})


def test_fields_of_a_later_release_are_ignored() -> None:
    assert description_from_json(description_to_json(describe()) | {"weather": "fine"}) == describe()


def test_streaming_rows_needs_no_more_memory_for_more_rows(tmp_path: Path) -> None:
    def peak(ratings: int) -> int:
        rows = ((at, "i0", "diversity", "", "diversity", 3.5, "x" * 100, 1.0) for at in range(ratings))
        tables = {**dict.fromkeys(TABLES, ()), "ratings": rows}
        tracemalloc.start()
        with (tmp_path / "bundle.zip").open("wb") as file:
            assert write_bundle_tables(a_study().description, tables, file) == ratings
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # what is loaded once
    assert peak(30_000) < 1.2 * peak(6_000)
