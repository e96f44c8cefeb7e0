"""Judges are never workers: whatever they answer, every export, figure and count about people stays the same."""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.data import read_bundle
from analysis.report import report_numbers
from annotation.models import Hit, Judge, JudgeAnswer, JudgeRating, Study, TakenItem
from annotation.results import exports
from annotation.results.frames import study_data
from annotation.review.progress import progress
from tests.annotation.judging.support.judges import chat, judged, likert_study, served_model
from tests.factories import make_participant, make_submission
from tests.generation.support.openai_server import Server

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 1, tzinfo=UTC)


def rated_study() -> Study:
    study = likert_study(
        *[f"Text number {number} {'goes on ' * number}." for number in range(8)],
        ratings_per_item=3,
        hits_per_worker=None,
    )
    for seed in range(3):
        participant = make_participant(study=study)
        for _ in range(8):
            make_submission(participant=participant, seed=seed)
    return study


def saying(body: dict[str, Any]) -> str:
    draw = random.Random(body["seed"])
    return json.dumps({"q1": draw.randint(1, 5), "q2": draw.randint(1, 5)})


def everything_about_people(study: Study) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for kind in exports.kinds_of(study):
        if kind in ("judges", exports.BUNDLE, exports.DATASET):
            continue
        out = io.BytesIO()
        exports.export(study, kind=kind, out=out)
        written[f"export {kind}"] = out.getvalue()
    sections = report_numbers(study_data(study), draws=20, seed=1, made_at=AT)["sections"]
    sections.pop("judges", None)
    written["report"] = sections
    written["progress"] = progress(study)
    written["hits"] = list(Hit.objects.filter(study=study).values_list("pk", "n_live", "n_submitted").order_by("pk"))
    written["taken"] = list(TakenItem.objects.values_list().order_by("pk"))
    return written


def bundle_of(study: Study, folder: Path) -> Path:
    path = folder / "bundle.zip"
    with path.open("wb") as out:
        exports.export(study, kind=exports.BUNDLE, out=out)
    return path


def test_nothing_about_people_changes(server: Server) -> None:
    served_model(server)
    server.answering = chat(saying)
    study = rated_study()
    before = everything_about_people(study)
    judge = judged(study, samples=2)
    assert JudgeRating.objects.filter(judge=judge).count() == 32
    after = everything_about_people(study)
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert after[name] == value, name


def test_the_report_and_the_command_say_the_same(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served_model(server)
    server.answering = chat(saying)
    study = rated_study()
    judged(study, samples=2)
    data = study_data(study)
    section = report_numbers(data, draws=20, seed=1, made_at=AT)["sections"]["judges"]
    path = bundle_of(study, tmp_path)
    again = report_numbers(read_bundle(path), draws=20, seed=1, made_at=AT)["sections"]["judges"]
    assert again == section
    assert "error" not in section
    of_judge = tmp_path / "judge.csv"
    with of_judge.open("wb") as out:
        exports.export(study, kind="judges", out=out)
    rows = pd.read_csv(of_judge)
    assert list(rows.columns[:6]) == ["study", "judge", "model", "method", "arm", "item"]
    assert len(rows) == 32
    assert main(["judges", str(path), "--judge", str(of_judge), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    agreement = {row["question"]: row for row in section["agreement"]}
    for topic in ("clear", "liked"):
        by_command = told["figures"][f"{topic}.agreement"]
        assert agreement[topic]["agreement"] == pytest.approx(by_command["judge_with_people"])
        assert agreement[topic]["ceiling"] == pytest.approx(by_command["person_with_others"])


def test_two_judges_in_one_file_must_be_told_apart(server: Server, tmp_path: Path) -> None:
    served_model(server)
    server.answering = chat(saying)
    study = rated_study()
    for name in ("strict", "kind"):
        judged(study, name=name)
    path, of_judges = bundle_of(study, tmp_path), tmp_path / "judges.csv"
    with of_judges.open("wb") as out:
        exports.export(study, kind="judges", out=out)
    assert main(["judges", str(path), "--judge", str(of_judges)]) != 0
    assert main(["judges", str(path), "--judge", str(of_judges), "--named", "kind"]) == 0


def test_a_study_without_judges_has_no_trace_of_them(tmp_path: Path) -> None:
    study = rated_study()
    assert "judges" not in exports.kinds_of(study)
    assert "judges" not in report_numbers(study_data(study), draws=20, seed=1, made_at=AT)["sections"]
    with pytest.raises(exports.ExportError, match="No judge has answered"):
        exports.export(study, kind="judges", out=io.BytesIO())
    assert Judge.objects.count() == JudgeAnswer.objects.count() == 0
