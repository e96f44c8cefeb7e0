"""A generation run's samples as the items of a study, in one step."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AuditEntry, Item, Study
from annotation.studies.applying import apply
from annotation.studies.item_sources import Imported, import_run
from annotation.studies.storing import Frozen
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.table_files import TableProblems
from annotation.task_types.items import SourceRow
from annotation.task_types.registry import get_type
from common.problems import Invalid
from generation.models import GenerationRun, Sample
from generation.runs.run_worker import work_on
from tests.factories import make_study
from tests.generation.support.run_factories import make_run
from tests.generation.support.toy_runs import Toy

CONTEXTS = [{"id": "a", "context": "It rained."}, {"id": "b", "context": "A letter came."}]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> GenerationRun:
    """Two contexts, greedy and three temperatures, four samples each."""
    monkeypatch.setattr("generation.runs.run_worker.runnable", lambda: ("transformers",))
    decoders = ["greedy", {"temperature": {"from": 0.5, "to": 1.5, "steps": 3}}]
    made = make_run(name="sweep", contexts=CONTEXTS, decoders=decoders, samples=4)
    work_on(run_id=made.pk, worker="w", backend_of=Toy().backend_of)
    made.refresh_from_db()
    return made


def draft(task_type: str = "abs_hds", **values: Any) -> Study:
    return make_study(task_type=task_type, items=0, live=False, **values)


def take(study: Study, run: GenerationRun, **options: Any) -> Imported:
    return import_run(study=study, run=run, options=options, actor="ann")


@pytest.mark.django_db
@pytest.mark.parametrize("task_type", ["abs_hds", "asp_hds", "sim_hds"])
def test_sets_by_decoder_parameter_become_items(run: GenerationRun, task_type: str) -> None:
    study = draft(task_type)
    assert take(study, run) == Imported(items=6, left_out=2)  # greedy's one text makes no set
    items = list(study.items.order_by("position"))
    assert [item.external_id for item in items] == ["a/0.5", "a/1", "a/1.5", "b/0.5", "b/1", "b/1.5"]
    facts = [get_type(task_type).describe_item(item.payload) for item in items]
    assert [fact.parameter for fact in facts[:3]] == [("temperature", 0.5), ("temperature", 1.0), ("temperature", 1.5)]
    stored = Sample.objects.filter(context__external_id="a", decoder="ancestral").order_by("number")
    assert list(facts[1].responses) == [sample.text.strip() for sample in stored]
    assert facts[1].context == "It rained."
    assert items[1].source == {"run": "sweep", "samples": [sample.pk for sample in stored]}


@pytest.mark.django_db
def test_the_import_is_recorded(run: GenerationRun) -> None:
    study = draft()
    take(study, run)
    entry = AuditEntry.objects.get(study=study, action="import items")
    assert (entry.actor, entry.detail["run"], entry.detail["new"]) == ("ann", "sweep", 6)


@pytest.mark.django_db
def test_sets_of_a_chosen_size(run: GenerationRun) -> None:
    study = draft()
    assert take(study, run, set_size=2).items == 12
    assert study.items.filter(external_id="a-1/0.5").exists()
    with pytest.raises(Invalid) as refused:
        take(study, run, set_size="many", pears=2)
    assert {problem.where for problem in refused.value.problems} == {"items.set_size", "items.pears"}
    assert study.items.count() == 12


@pytest.mark.django_db
def test_pairs_of_sets_of_any_number_of_decoders(run: GenerationRun) -> None:
    study = draft("rnk_hds")
    assert take(study, run).items == 6  # three temperatures make three pairs, in each of two contexts
    facts = [get_type("rnk_hds").describe_item(item.payload) for item in study.items.order_by("position")]
    assert [round(fact.parameter[1], 6) for fact in facts[:3] if fact.parameter] == [-0.5, -1.0, -0.5]


@pytest.mark.django_db
def test_the_types_own_checks_decide(run: GenerationRun, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [SourceRow({"sample_id": "a", "context": ""}, (1,))]
    monkeypatch.setattr(type(get_type("abs_hds")), "from_samples", lambda *args: (rows, 0))
    study = draft()
    with pytest.raises(TableProblems):
        take(study, run)
    assert not Item.objects.filter(study=study).exists()


@pytest.mark.django_db
def test_characters_that_cannot_be_stored_are_replaced(run: GenerationRun, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"sample_id": "a", "context": "c\x00", "resp_0": "one\ud800", "resp_1": "two"}
    monkeypatch.setattr(type(get_type("abs_hds")), "from_samples", lambda *args: ([SourceRow(cells, (1,))], 0))
    study = draft()
    monkeypatch.setattr("annotation.studies.item_sources.samples_of", lambda run: [[]])
    take(study, run)
    payload = study.items.get().payload
    assert (payload["context"], payload["responses"]) == ("c\ufffd", ["one\ufffd", "two"])


@pytest.mark.django_db
def test_a_run_that_is_not_complete_is_refused(run: GenerationRun) -> None:
    GenerationRun.objects.update(state="running")
    run.refresh_from_db()
    with pytest.raises(Invalid, match=r"The run sweep is not complete \(running\)"):
        take(draft(), run)


@pytest.mark.django_db
def test_a_run_without_sets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.runs.run_worker.runnable", lambda: ("transformers",))
    greedy = make_run(name="greedy", decoders=["greedy"])
    work_on(run_id=greedy.pk, worker="w", backend_of=Toy().backend_of)
    greedy.refresh_from_db()
    with pytest.raises(Invalid, match="No samples of the run greedy make an item"):
        take(draft(), greedy)


@pytest.mark.django_db
def test_a_study_that_has_left_draft_keeps_its_items(run: GenerationRun) -> None:
    study = make_study(items=2)
    with pytest.raises(Frozen):
        take(study, run)
    assert study.items.count() == 2


@pytest.mark.django_db
def test_a_type_that_uses_no_samples_says_so(run: GenerationRun) -> None:
    with pytest.raises(Invalid, match="Studies of the type con_test cannot use generated samples"):
        take(draft("con_test"), run)


# --- in a study file ---


def write(folder: Path, items: str, task_type: str = "abs_hds") -> Path:
    path = folder / "study.yaml"
    path.write_text(f"slug: sets\ntask_type: {task_type}\ntitle: Sets\nitems: {items}\n")
    return path


@pytest.mark.django_db
def test_a_study_file_names_a_run(run: GenerationRun, tmp_path: Path) -> None:
    path = write(tmp_path, "{from_run: sweep, set_size: 2}")
    assert apply(read_study_file(path)).created
    assert Study.objects.get().items.count() == 12
    assert apply(read_study_file(path)).differences == []
    [difference] = apply(read_study_file(write(tmp_path, "{from_run: sweep}"))).differences
    assert (difference.field, difference.old, difference.new) == ("items", 12, 6)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("items", "task_type", "said"),
    [
        ("{from_run: swep}", "abs_hds", "There is no “swep”. Did you mean “sweep”?"),
        ("{from_run: sweep, set_size: 40}", "abs_hds", "“40”: "),
        ("{from_run: sweep}", "con_test", "Studies of the type con_test cannot use generated samples."),
    ],
)
def test_runs_that_make_no_items_are_refused(
    run: GenerationRun, tmp_path: Path, items: str, task_type: str, said: str
) -> None:
    with pytest.raises(FileRefused) as refused:
        apply(read_study_file(write(tmp_path, items, task_type)))
    [problem] = refused.value.problems
    assert said in f"{problem.what} {problem.fix}"
    assert refused.value.line(problem) == 4
    assert not Study.objects.exists()


# --- on the command line ---


@pytest.mark.django_db
def test_from_the_command_line(run: GenerationRun) -> None:
    study, out = draft(), io.StringIO()
    call_command("study", "import-run", study.slug, "sweep", stdout=out)
    assert f"{study.slug}: 6 items from the run sweep. 2 samples are left over." in out.getvalue()
    call_command("study", "import-run", study.slug, "sweep", "set_size=2", stdout=out)
    assert study.items.count() == 12
    with pytest.raises(CommandError, match="There is no run “swep”"):
        call_command("study", "import-run", study.slug, "swep", stdout=out)
    with pytest.raises(CommandError, match="“9” is not an option"):
        call_command("study", "import-run", study.slug, "sweep", "9", stdout=out)
    listed = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was written"):
        call_command("study", "import-run", study.slug, "sweep", "set_size=99", stdout=out, stderr=listed)
    assert "items.set_size: “99”" in listed.getvalue()
