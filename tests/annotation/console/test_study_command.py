"""The command line: what it prints, how it ends, and that it leaves nothing half-done."""

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command, execute_from_command_line
from django.db import OperationalError, connection

from analysis.data import read_bundle
from annotation.models import AuditEntry, Item, Rating, Study
from annotation.studies.staffing import Missing
from annotation.work.answers import derive_ratings
from tests.factories import make_participant, make_study, make_submission
from tests.services import ROOT
from tests.support import clean_environment, database_with_tables

SETS = "sample_id,context,resp_0,resp_1\ns0,c,one,two\ns1,c,one,two\n"
FILE = "slug: sets\ntask_type: abs_hds\ntitle: Sets\nitems: sets.csv\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "sets.csv").write_text(SETS)
    path = tmp_path / "study.yaml"
    path.write_text(FILE)
    return path


def study(*arguments: Any, **options: Any) -> str:
    """What the command prints."""
    out = io.StringIO()
    call_command("study", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def refused(*arguments: Any) -> tuple[str, str]:
    """The problems listed, and the sentence after them."""
    listed = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("study", *map(str, arguments), stdout=io.StringIO(), stderr=listed)
    return listed.getvalue(), str(caught.value)


@pytest.mark.django_db
@pytest.mark.parametrize("identity", ["parameter", "browser"])
def test_commands_say_that_ids_in_an_address_are_not_checked(identity: str, file: Path) -> None:
    file.write_text(
        FILE + f"identity: {identity}\n" + ("identity_parameter: id\npanel: sona\n" if identity == "parameter" else "")
    )
    for action in (("apply", file, "--dry-run"), ("apply", file), ("publish", "sets"), ("check", "sets")):
        warned = io.StringIO()
        study(*action, stderr=warned)
        found = "Warning: The server cannot check the panel's ids: whoever knows somebody's id" in warned.getvalue()
        assert found == (identity == "parameter"), action


@pytest.mark.django_db
def test_writing_studies_need_writers_and_others_raters() -> None:
    made = make_study(task_type="production", items=2, ratings_per_item=3, live=False)
    assert "nobody writes for the same item twice" in study("publish", made.slug)
    assert "it has too few different writers" in Missing(1, 2, 3).in_words(None, own_work=True)[0]
    assert "needs a writer who has not written for it yet" in " ".join(Missing(0, 1, 1).in_words(None, own_work=True))


def test_examples_name_a_time_or_say_that_none_is_published() -> None:
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        text = path.read_text()
        if "task_type:" in text and "reward: 0\n" not in text:
            assert "estimated_minutes:" in text, path.name


@pytest.mark.django_db
def test_from_a_file_to_a_closed_study(file: Path) -> None:
    made = study("apply", file)
    assert "sets: created" in made
    assert "+ title: Sets" in made
    assert "manage.py study publish sets" in made
    assert "no owner" in made
    assert "2 hits" in study("publish", "sets")
    assert "live already" in study("publish", "sets")
    assert "paused" in study("pause", "sets")
    assert "is live" in study("resume", "sets")
    assert "closed" in study("close", "sets")
    actors = set(AuditEntry.objects.values_list("actor", flat=True))
    assert actors == {"manage.py study", "manage.py study apply"}


@pytest.mark.django_db
def test_applying_again_reports_that_there_is_nothing_to_change(file: Path) -> None:
    study("apply", file)
    before = AuditEntry.objects.count()
    assert "sets: nothing to change." in study("apply", file)
    assert AuditEntry.objects.count() == before


@pytest.mark.django_db
def test_a_dry_run_shows_the_difference_and_writes_nothing(file: Path) -> None:
    assert "would create" in study("apply", file, "--dry-run")
    assert not Study.objects.exists()
    study("apply", file)
    file.write_text(FILE.replace("title: Sets", "title: Other\nhits_per_worker: 2"))
    told = study("apply", file, "--dry-run")
    assert "would change" in told
    assert "~ title: Sets → Other" in told
    assert "+ hits_per_worker: 2" in told
    assert "Nothing was written" in told
    assert Study.objects.get().title == "Sets"


@pytest.mark.django_db
def test_the_owner_is_a_researcher_of_the_server(file: Path) -> None:
    User.objects.create_user("ann")
    said = refused("apply", file, "--owner", "ann")[1]
    assert "There is no researcher “ann”" in said
    assert "manage.py user grant ann" in said
    call_command("user", "grant", "ann")
    assert "no owner" not in study("apply", file, "--owner", "ann")
    assert Study.objects.get().memberships.get().role == "owner"


@pytest.mark.django_db
def test_a_live_instrument_is_not_changed_and_the_fields_are_named(file: Path) -> None:
    study("apply", file)
    study("publish", "sets")
    file.write_text(FILE + "reward: 2\nconfig:\n  max_words: 3\n")
    listed, said = refused("apply", file)
    assert "reward: Locked at launch: it was promised" in listed
    assert "config.max_words: Locked at launch" in listed
    assert said == "These fields are locked after launch. Nothing was written."
    assert Study.objects.get().config["max_words"] == 15


@pytest.mark.django_db
def test_problems_of_a_study_file_come_with_their_lines(file: Path) -> None:
    file.write_text(FILE + "ratings_per_item: 0\nsead: 3\n")
    listed, said = refused("apply", file)
    assert "line 6, sead" in listed
    assert "Did you mean “seed”?" in listed
    assert said == "The study file has problems; nothing was written."
    file.write_text(FILE + "ratings_per_item: 0\n")
    assert "line 5, ratings_per_item" in refused("apply", file)[0]


@pytest.mark.django_db
def test_problems_of_the_items_are_a_table_with_row_and_column(file: Path) -> None:
    (file.parent / "sets.csv").write_text(SETS + ",c,one,two\ns4,c,,two\n" + ",,,x\n" * 300)
    listed, said = refused("apply", file)
    lines = [line.split() for line in listed.splitlines()]
    assert lines[0][:2] == ["row", "column"]
    assert lines[1][:2] == ["3", "sample_id"]
    assert "and 702 more" in listed
    assert "902 problems" in said
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_an_unknown_study_is_refused_with_the_existing_ones() -> None:
    make_study(slug="sets-1", items=0, live=False)
    assert "Studies: sets-1." in refused("publish", "sets")[1]


@pytest.mark.django_db
def test_every_reason_against_a_launch_is_listed() -> None:
    make_study(slug="sets", items=0, live=False)
    listed, said = refused("publish", "sets")
    assert "items: The study has no items." in listed
    assert said == "Nothing was written."


@pytest.mark.django_db
@pytest.mark.parametrize("message", ["database is locked", "database or disk is full"])
def test_a_database_that_refuses_is_one_sentence(file: Path, message: str) -> None:
    with patch.object(Item.objects, "bulk_create", side_effect=OperationalError(message)):
        assert message in refused("apply", file)[1]
    assert not Study.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no lock of the whole database")
def test_a_database_that_another_program_holds_is_one_sentence(file: Path) -> None:
    study("apply", file)
    file.write_text(FILE.replace("title: Sets", "title: Other"))
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 50")
        assert "database is locked" in refused("apply", file)[1]
    finally:
        other.execute("ROLLBACK")
        other.close()
        connection.close()
    assert Study.objects.get().title == "Sets"
    assert "title: Sets → Other" in study("apply", file)


@pytest.mark.django_db
def test_status_without_a_name_lists_all_studies() -> None:
    assert study("status") == "There are no studies yet.\n"
    make_study(slug="b-live")
    make_study(slug="a-draft", live=False)
    first, second = study("status").splitlines()
    assert first.split()[:3] == ["a-draft", "draft", "abs_hds"]
    assert second.split()[:3] == ["b-live", "live", "abs_hds"]


@pytest.mark.django_db
def test_an_export_into_a_missing_folder_names_it(tmp_path: Path) -> None:
    make_study(slug="sets")
    target = tmp_path / "none" / "ratings.csv"
    _, told = refused("export", "sets", "--out", target)
    assert told == f"{target}: there is no folder {target.parent}."


@pytest.mark.django_db
def test_status_as_text_and_as_json() -> None:
    made = make_study(slug="sets", items=2, ratings_per_item=2)
    make_submission(participant=make_participant(study=made, synthetic=True))
    told = study("status", "sets")
    assert "1 of 4 (25%), 1 simulated" in told
    assert "absHDS" in told
    figures = json.loads(study("status", "sets", "--json"))
    assert (figures["slug"], figures["status"], figures["submitted"], figures["wanted"]) == ("sets", "live", 1, 4)
    assert figures["submitted_synthetic"] == 1


@pytest.mark.django_db
def test_links_for_the_names_in_a_file(tmp_path: Path) -> None:
    make_study(slug="sets")
    (tmp_path / "names.txt").write_bytes("\ufeffann\n\nZoë\n=1+1\nann\n".encode())
    rows = list(csv.DictReader(io.StringIO(study("links", "sets", "--names", tmp_path / "names.txt"))))
    assert [row["name"] for row in rows] == ["ann", "Zoë", "'=1+1"]
    assert all("/s/sets/?k=" in row["link"] for row in rows)
    assert "none.txt" in refused("links", "sets", "--names", tmp_path / "none.txt")[1]
    (tmp_path / "latin.txt").write_bytes("Zo\xeb".encode("latin-1"))
    assert "UTF-8" in refused("links", "sets", "--names", tmp_path / "latin.txt")[1]


@pytest.mark.django_db
def test_links_for_the_names_on_standard_input() -> None:
    make_study(slug="sets")
    with patch("sys.stdin", io.StringIO("ann\n")):
        assert study("links", "sets", "--names", "-").count("\n") == 2


@pytest.mark.django_db
def test_a_report_and_an_export_are_written(tmp_path: Path) -> None:
    made = make_study(slug="sets", items=2, ratings_per_item=2)
    make_submission(study=made)
    assert "report.html" in study("report", "sets", "--out", tmp_path / "report")
    assert (tmp_path / "report" / "report.html").stat().st_size > 1000
    assert json.loads((tmp_path / "report" / "report.json").read_text())
    assert "3 rows" in study("export", "sets", "--out", tmp_path / "long.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "long.csv").read_text("utf-8-sig"))))
    assert len(rows) == Rating.objects.count() == 3
    printed = study("export", "sets", "--kind", "wide", "--format", "jsonl")
    assert all(json.loads(line) for line in printed.splitlines())
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.django_db
def test_figures_are_saved_as_png_files_on_request(tmp_path: Path) -> None:
    made = make_study(slug="sets", items=2, ratings_per_item=2)
    make_submission(study=made)

    study("report", "sets", "--out", tmp_path / "plain")
    study("report", "sets", "--out", tmp_path / "report", "--png")

    assert not list((tmp_path / "plain").rglob("*.png"))
    assert (tmp_path / "report" / "figures" / "q-bars.png").read_bytes().startswith(b"\x89PNG")
    assert 'href="figures/q-bars.png"' in (tmp_path / "report" / "report.html").read_text()


@pytest.mark.django_db
def test_a_failing_export_leaves_the_old_file(tmp_path: Path) -> None:
    make_study(slug="sets")
    (tmp_path / "long.csv").write_text("old")
    with patch("annotation.results.exports.export", side_effect=OSError(28, "No space left on device")):
        assert "No space left" in refused("export", "sets", "--out", tmp_path / "long.csv")[1]
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]
    assert (tmp_path / "long.csv").read_text() == "old"


@pytest.mark.django_db
def test_deleting_is_for_drafts() -> None:
    make_study(slug="sets", live=False)
    make_study(slug="live")
    assert "3 items are deleted" in study("delete", "sets")
    assert "only a draft" in refused("delete", "live")[0]
    assert list(Study.objects.values_list("slug", flat=True)) == ["live"]


@pytest.mark.django_db
def test_counters_changed_by_hand_are_corrected() -> None:
    made = make_study(slug="sets", items=1)
    make_submission(study=made)
    made.hits.update(n_submitted=0)
    assert "1 of 1 hits had a wrong count; fixed" in study("recount", "sets")
    assert made.hits.get().n_submitted == 1
    assert "0 of 1" in study("recount", "sets")
    assert AuditEntry.objects.filter(study=made, action="recount").count() == 1


@pytest.mark.django_db
def test_ratings_are_derived_again_from_what_was_sent() -> None:
    made = make_study(slug="sets", items=2)
    submission = make_submission(study=made)
    want = set(submission.ratings.values_list("question", "value", "text", "seconds"))
    submission.ratings.filter(question="diversity").delete()
    assert "1 submission read again. The ratings of 1 changed" in study("rebuild-ratings", "sets")
    assert set(submission.ratings.values_list("question", "value", "text", "seconds")) == want
    assert "The ratings of 0 changed" in study("rebuild-ratings", "sets")
    entry = AuditEntry.objects.get(study=made, action="rebuild ratings")
    assert entry.detail == {"submissions": 1, "changed": 1}


@pytest.mark.django_db
def test_a_rebuild_that_fails_loses_no_rating() -> None:
    submission = make_submission(study=make_study(slug="sets"))
    kept = set(submission.ratings.values_list("pk", flat=True))

    def wrong(*args: Any, **options: Any) -> list[dict[str, Any]]:
        rows = derive_ratings(*args, **options)
        return [rows[0] | {"value": 4.0, "text": ""}, *rows[1:]]

    with (
        patch("annotation.work.answers.derive_ratings", side_effect=wrong),
        patch("annotation.sql.insert_many", side_effect=OperationalError("disk full")),
    ):
        assert "disk full" in refused("rebuild-ratings", "sets")[1]
    assert set(submission.ratings.values_list("pk", flat=True)) == kept


def test_the_keys_of_a_study_file_are_listed() -> None:
    assert "abs_hds: absHDS" in study("keys")
    told = study("keys", "asp_hds")
    assert "ratings_per_item: a whole number from 1 to 1,000. Default: 10." in told
    assert "  aspect: one of content, form. Default: content." in told
    assert "  instructions: " in told
    assert "abs_hds" in refused("keys", "nothing")[1]


def manage(var: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=clean_environment({"HITSERVER_VAR": str(var), "PATH": os.environ["PATH"]}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_exit_codes_and_no_stack_trace(tmp_path: Path, file: Path) -> None:
    (tmp_path / "var").mkdir()
    shutil.copy(database_with_tables(), tmp_path / "var")
    done = manage(tmp_path / "var", "study", "apply", str(file), "--progress")
    assert (done.returncode, "created" in done.stdout) == (0, True)
    assert "2 items" in done.stderr
    again = manage(tmp_path / "var", "study", "apply", str(file))
    assert (again.returncode, again.stderr) == (0, "")
    refused = manage(tmp_path / "var", "study", "publish", "none")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "CommandError: There is no study “none”. Studies: sets.\n"
    no_tables = manage(tmp_path / "other", "study", "status", "sets")
    assert no_tables.returncode == 1
    assert "manage.py migrate" in no_tables.stderr
    assert "Traceback" not in no_tables.stderr


@pytest.mark.parametrize("arguments", [["publish"], ["dance"]])
def test_wrong_arguments_end_with_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # To set up logging anew closes the handlers of all libraries, and absl's then closes the stream that pytest reads.
    monkeypatch.setattr("django.setup", lambda: None)
    with pytest.raises(SystemExit) as ended:
        execute_from_command_line(["manage.py", "study", *arguments])
    assert ended.value.code == 2
    assert "usage: manage.py study" in capsys.readouterr().err


# --- outputs and links of another study ---


@pytest.mark.django_db
def test_outputs_are_taken_and_taken_again() -> None:
    there = make_study(task_type="con_test", slug="writing", ratings_per_item=9)
    make_submission(study=there)
    make_study(slug="judging", items=0, live=False)
    assert "judging: 2 items from outputs of writing." in study("take-outputs", "judging", "--from-study", "writing")
    study("publish", "judging")
    make_submission(study=there)
    assert "judging: 2 new items, 4 in total." in study("take-outputs", "judging")
    assert "judging: 0 new items, 4 in total." in study("take-outputs", "judging")
    assert "--arm, --kind and --follow need --from-study" in refused("take-outputs", "judging", "--follow")[1]
    listed, said = refused("take-outputs", "writing")
    assert "The items of writing do not come from another study." in listed
    assert said == "Nothing was written."
    assert "There is no study “ghost”" in refused("take-outputs", "judging", "--from-study", "ghost")[1]


@pytest.mark.django_db
def test_links_for_everybody_who_took_part_elsewhere() -> None:
    there = make_study(slug="writing")
    make_submission(study=there)
    make_study(slug="judging")
    assert study("links", "judging", "--from-study", "writing").count("/s/judging/?k=") == 1


@pytest.mark.django_db
def test_a_bundle_is_one_of_the_exports(tmp_path: Path) -> None:
    made = make_study(slug="sets", items=2, ratings_per_item=2)
    make_submission(study=made)
    study("export", "sets", "--kind", "bundle", "--out", tmp_path / "sets.zip")
    assert read_bundle(tmp_path / "sets.zip").description.slug == "sets"


@pytest.mark.django_db
def test_status_lists_the_arms() -> None:
    make_study(slug="sets", reward="0.5", arms=[{"name": "low"}, {"name": "high", "reward": "1.25", "wanted": 7}])
    told = study("status", "sets")
    assert "arm low: 0 participants, $0.50 per hit" in told
    assert "arm high: 0 participants of 7 wanted, $1.25 per hit" in told
