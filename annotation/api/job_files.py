"""The files that jobs made, in ``VAR/job-files/<number of the study>/<number of the job>/``.

Web machines and workers must share VAR, as for reports.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from annotation.models import ApiJob


def folder_of(job: ApiJob) -> Path:
    return _home() / str(job.study_id) / str(job.pk)


def file_of(job: ApiJob) -> Path | None:
    """The file that the job made. None if it made none, or it was deleted."""
    name = Path(str(job.result.get("file_name", ""))).name
    path = folder_of(job) / name
    return path if name and path.is_file() else None


def remove_forgotten() -> int:
    """Delete the files of jobs that no longer exist. Returns how many jobs that were."""
    folders = [folder for folder in _home().glob("*/*") if folder.name.isdecimal()]
    kept = set(ApiJob.objects.filter(pk__in=[int(folder.name) for folder in folders]).values_list("pk", flat=True))
    forgotten = [folder for folder in folders if int(folder.name) not in kept]
    for folder in forgotten:
        shutil.rmtree(folder, ignore_errors=True)
    return len(forgotten)


def _home() -> Path:
    return Path(settings.VAR) / "job-files"
