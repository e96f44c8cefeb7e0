"""The example studies with simulated work, and everything that a researcher can save of one."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client

from annotation.models import Membership, Study
from annotation.results.exports import FORMATS_OF, export, kinds_of
from annotation.studies.applying import apply
from annotation.studies.launching import publish
from annotation.studies.study_files import read_study_file
from annotation.work.allocation import NothingLeft
from generation.models import Suggester
from tests.factories import make_participant, make_submission
from tests.generation.support.toy_suggestions import make_pool, make_suggester
from tests.services import ROOT

WORDS = ("door", "gate", "box", "shop", "road", "house", "hall", "tower", "garden", "harbour", "cellar", "attic")


def example_study(name: str, *, hits: int, workers: int = 6) -> Study:
    """``examples/NAME.yaml`` with so many finished hits by simulated workers, who take turns."""
    for suggester, template in (("model-a", "story"), ("model-b", "story"), ("slogans", "slogan")):
        lines = [f"The {word} of {suggester} was open, and nobody knew why." for word in WORDS]
        make_pool(make_suggester(suggester, wait_seconds=10.0, template=f"{{{template}}}"), *lines)
    owner, _ = User.objects.get_or_create(username="owner", defaults={"is_superuser": True, "is_staff": True})
    study = apply(read_study_file(ROOT / "examples" / f"{name}.yaml"), owner=owner).study
    assert study is not None
    publish(study=study, actor="test")
    Suggester.objects.update(active=False)  # texts come from the pool at once
    study.refresh_from_db()
    people = [make_participant(study=study, name=f"{study.slug}-{number}", synthetic=True) for number in range(workers)]
    for number in range(hits):
        with suppress(NothingLeft):
            make_submission(study=study, participant=people[number % workers], seed=number)
    return study


def save_exports(study: Study, folder: Path) -> None:
    """``long.csv``, ``bundle.zip`` and whatever else the study has, and ``api.json`` with what the API returns."""
    for kind in kinds_of(study):
        if kind == "cyoa-script":
            continue
        for format in sorted({"csv", "jsonl", "zip"} & set(FORMATS_OF[kind])):
            with (folder / f"{kind}.{format}").open("wb") as file:
                export(study, kind=kind, format=format, out=file)
    client = Client()
    client.force_login(Membership.objects.filter(study=study).first().user)  # type: ignore[union-attr]
    pages: dict[str, list[object]] = {"ratings": [], "items": []}
    for name, saved in pages.items():
        address = f"/api/v1/studies/{study.slug}/{name}/"
        while address:
            page = client.get(address).json()
            saved.append(page)
            address = page["next"]
    (folder / "api.json").write_text(json.dumps(pages))
