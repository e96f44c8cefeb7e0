"""What a run was made with is stored with it, compared when the model is loaded, and exported."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generation.backends import open_backend
from generation.backends.base import Facts
from generation.models import GenerationRun, LanguageModel
from generation.registry.checking import check_model
from generation.runs.export import csv_pieces, json_pieces
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_model, make_run
from tests.generation.support.tiny_models import spec, tiny
from tests.generation.support.toy_runs import Toy

COMMIT, OTHER = "a" * 40, "b" * 40


class From(Toy):
    """A toy with an origin."""

    origin: dict[str, Any] = {}

    def facts(self) -> Facts:
        return replace(super().facts(), origin=self.origin)


def toy(**origin: Any) -> From:
    toy = From()
    toy.origin = origin
    return toy


def work(run: GenerationRun, toy: Toy, *, chunks: float | None = None) -> None:
    work_on(run_id=run.pk, worker="w", backend_of=toy.backend_of, seconds=chunks)
    run.refresh_from_db()


def one(**values: Any) -> GenerationRun:
    return make_run(**{"contexts": ["One"], "decoders": ["ancestral"], "samples": 2, "chunk_size": 1} | values)


@pytest.mark.django_db
def test_the_run_stores_what_its_model_was_at_first(everything_installed: None) -> None:
    run = one()
    work(run, toy(commit=COMMIT, versions={"torch": "2"}), chunks=0)
    assert run.origins == {"toy": {"commit": COMMIT, "versions": {"torch": "2"}, "dtype": "float32", "device": "cpu"}}
    made_with = run.chunks.filter(state="done").values_list("made_with", flat=True)[0]
    assert made_with["commit"] == COMMIT and made_with["versions"] == {"torch": "2"}


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["commit", "sha256"])
def test_a_model_with_other_weights_does_not_continue_a_run(everything_installed: None, kind: str) -> None:
    run = one()
    work(run, toy(**{kind: COMMIT}), chunks=0)
    work(run, toy(**{kind: OTHER}))
    assert run.state == "failed" and run.samples.count() == 1
    assert "toy is not the model that this run began with" in run.message
    assert COMMIT in run.message and OTHER in run.message


@pytest.mark.django_db
def test_other_libraries_continue_a_run_and_every_sample_names_its_own(everything_installed: None) -> None:
    run = one()
    work(run, toy(commit=COMMIT, versions={"torch": "2"}), chunks=0)
    work(run, toy(commit=COMMIT, versions={"torch": "3"}))
    assert run.state == "done"
    rows = [json.loads(line) for line in "".join(json_pieces(run)).splitlines()]
    assert [row["versions"] for row in rows] == ["torch 2", "torch 3"]


@pytest.mark.django_db
def test_exports_name_model_source_revision_dtype_device_and_decoder(everything_installed: None) -> None:
    run = one(decoders=["top_p=0.9"], samples=1)
    LanguageModel.objects.update(source="org/model", revision="main")
    work(run, toy(commit=COMMIT))
    (row,) = csv.DictReader(io.StringIO("".join(csv_pieces(run)), newline=""))
    names = ("model_source", "revision", "dtype", "device", "decoder")
    assert [row[name] for name in names] == ["org/model", COMMIT, "float32", "cpu", "top_p=0.9"]


@pytest.mark.django_db
def test_a_check_stores_where_the_model_comes_from(everything_installed: None) -> None:
    model = check_model(model_id=make_model().pk, backend_of=toy(commit=COMMIT).backend_of)
    assert model.found["origin"] == {"commit": COMMIT}


def test_a_folder_has_a_checksum_of_what_is_loaded_from_it(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny(), folder)
    before = open_backend(spec(folder)).facts().origin
    (folder / "notes.md").write_text("Not part of the model.")
    assert open_backend(spec(folder)).facts().origin == before
    shutil.rmtree(folder)
    shutil.copytree(tiny(seed=2), folder)
    after = open_backend(spec(folder)).facts().origin
    assert before["sha256"] != after["sha256"]
    assert {"torch", "transformers", "tokenizers"} <= set(before["versions"])


def test_the_checksum_of_a_file_is_that_of_every_other_program(tmp_path: Path) -> None:
    from generation.backends.model_origin import checksum

    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and more")
    assert checksum(path) == hashlib.sha256(b"GGUF and more").hexdigest()


def test_a_hub_model_has_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As transformers records it in the configuration that it has fetched."""
    backend = open_backend(spec(tiny(seed=5)))
    backend.spec = replace(backend.spec, source="org/model")
    backend.model.config._commit_hash = COMMIT  # type: ignore[attr-defined]
    assert backend.facts().origin["commit"] == COMMIT
