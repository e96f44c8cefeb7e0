"""Every preset from its file to findings: applied, launched, done by simulated workers, reported."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from analysis.report import report_numbers
from annotation.models import Study, Submission
from annotation.results.frames import study_data
from annotation.studies.launching import publish
from annotation.work.allocation import NotAdmitted, NothingLeft
from tests.annotation.study_file_helpers import run
from tests.factories import make_participant, make_submission
from tests.services import ROOT

PRESETS = sorted((ROOT / "examples" / "presets").glob("*.yaml"))
WORKERS = 12

pytestmark = pytest.mark.django_db


def collected(path: Path) -> Study:
    """The preset's study with every hit done by simulated workers."""
    study = run(path).study
    assert study is not None
    assert run(path).differences == []
    publish(study=study, actor="ann")
    for number in range(WORKERS):
        with suppress(NotAdmitted, NothingLeft):  # everything is done
            participant = make_participant(study=study)
            while True:
                make_submission(participant=participant, seed=number)
    return study


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_leads_to_findings(path: Path) -> None:
    study = collected(path)
    assert Submission.objects.filter(assignment__hit__study=study).count() >= study.ratings_per_item
    assert not study.hits.filter(n_submitted__lt=F("wanted")).exists()
    made_at = datetime(2026, 1, 1, tzinfo=UTC)
    numbers = report_numbers(study_data(study), draws=20, seed=1, made_at=made_at)
    findings = {row["criterion"] for row in numbers["sections"]["findings"]["sentences"]}
    # Each question about quality is answered by system; what people merely mark has shares.
    assert any(topic.startswith(tuple(study_topics(study))) for topic in findings)
    assert [name for name, section in numbers["sections"].items() if "error" in section] == []


def study_topics(study: Study) -> list[str]:
    rows: list[dict[str, Any]] = study.config.get("questions") or study.config["criteria"]
    return [row["topic"] for row in rows]
