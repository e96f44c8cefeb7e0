"""Ratings of other tools as closed studies: the same figures as of the file itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.answer_files.foreign_files import read_elsewhere
from analysis.answer_files.foreign_studies import study_of
from analysis.data import StudyData
from annotation.models import Payment, Posting, Study
from annotation.results.frames import study_data
from annotation.studies.importing_ratings import import_ratings, read_ratings
from annotation.work.answers import rebuild_ratings
from common.problems import Refused
from tests.analysis.test_answers_from_elsewhere import MINIMAL, TASKS, annotation, result, saved

pytestmark = pytest.mark.django_db


def imported(path: Path, slug: str = "from-elsewhere") -> Study:
    elsewhere = read_ratings(path, path.name)
    return import_ratings(elsewhere=elsewhere, file=path.name, slug=slug, title="", owner=None, actor="ann").study


def ratings_of(data: StudyData) -> pd.DataFrame:
    frame: pd.DataFrame = data.ratings
    return frame


def test_probe(tmp_path: Path) -> None:
    path = saved(tmp_path / "project.json", TASKS)
    study = imported(path)
    mine, file = study_data(study), study_of(str(path), read_elsewhere(str(path)))
    print(ratings_of(mine).to_string()); print(ratings_of(file).to_string())
    print(mine.submissions.to_string()); print(file.submissions.to_string())
    assert 0
