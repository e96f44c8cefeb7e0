"""Study files that are right except for what a test changes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation.studies.applying import Applied, apply
from annotation.studies.study_files import FileRefused, read_study_file

SETS = "sample_id,context,resp_0,resp_1\n" + "".join(f"s{n},context {n},one,two\n" for n in range(3))


def write(folder: Path, **changes: Any) -> Path:
    """A study file that is right except for ``changes``; None removes a key."""
    document = {"slug": "sets", "task_type": "abs_hds", "title": "Sets", "items": "sets.csv"} | changes
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))
    return path


def refused(path: Path) -> dict[str, str]:
    with pytest.raises(FileRefused) as caught:
        read_study_file(path)
    return {problem.where: f"{problem.what} {problem.fix}" for problem in caught.value.problems}


def refused_text(folder: Path, text: str | bytes) -> dict[str, str]:
    path = folder / "study.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refused(path)


def run(path: Path, **options: Any) -> Applied:
    return apply(read_study_file(path), **options)


def changes(applied: Applied) -> dict[str, tuple[Any, Any]]:
    return {difference.field: (difference.old, difference.new) for difference in applied.differences}
