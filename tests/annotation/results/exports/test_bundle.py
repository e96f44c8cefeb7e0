"""The bundle as an export: all of a study in one archive, without anybody's name."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from analysis.data import read_bundle, write_bundle
from analysis.description_json import description_to_json
from annotation.models import Flag
from annotation.results import exports
from annotation.results.frames import study_data
from annotation.results.worker_pages import worker_pages
from tests.annotation.results.exports.helpers import exclude, exported_bytes
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def test_a_bundle_reads_back_as_the_studys_data(tmp_path: Path) -> None:
    study = make_study(items=2, ratings_per_item=2)
    make_submission(study=study, seconds=12.5)
    data, count = exported_bytes(study, "bundle")
    path = tmp_path / exports.file_name(study, kind="bundle")
    path.write_bytes(data)
    assert path.name == f"{study.slug}-bundle.zip"
    back, live = read_bundle(path), study_data(study)
    assert count == len(back.all_ratings) == 3
    assert description_to_json(back.description) == description_to_json(live.description)
    assert back.items.equals(live.items)
    assert back.ratings["value"].equals(live.ratings["value"])


def test_a_bundle_written_row_by_row_has_the_bytes_of_one_written_from_frames() -> None:
    study = make_study(items=2, ratings_per_item=3, arms=[{"name": "low"}, {"name": "high", "reward": "0.2"}])
    for feedback in ("", "Fine, “thanks”\nand bye"):
        make_submission(study=study, seconds=12.5, feedback=feedback)
    exclude(make_submission(study=study))
    Flag.objects.create(submission=study.submissions.all()[0], reason="copied", detail="=1+1")
    from_frames = io.BytesIO()
    write_bundle(study_data(study), from_frames, worker_pages(study))
    assert exported_bytes(study, "bundle")[0] == from_frames.getvalue()


def test_the_same_study_gives_the_same_bytes() -> None:
    study = make_study(items=2, ratings_per_item=2)
    make_submission(study=study)
    assert exported_bytes(study, "bundle") == exported_bytes(study, "bundle")


def test_a_bundle_never_says_who_a_worker_is() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study, participant=make_participant(study=study, platform="mturk", name="A2SECRET"))
    data, _ = exported_bytes(study, "bundle")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert "A2SECRET" not in text
    assert "mturk" not in text
    with pytest.raises(exports.ExportError, match="never says who workers are"):
        exports.pieces(study, kind="bundle", with_worker_ids=True)


def test_a_bundle_holds_simulated_workers_and_people_together() -> None:
    with pytest.raises(exports.ExportError, match="holds everything"):
        exports.pieces(make_study(items=1), kind="bundle", simulated=False)
