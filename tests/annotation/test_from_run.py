"""A generation run's samples as the items of a study, in one step."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AuditEntry, Item, Study
from annotation.services.from_run import items_from_run
from annotation.services.refusals import Frozen, Invalid
from annotation.tables import TableProblems
from annotation.task_types.registry import all_types, get_type
from generation.exporting import FORMATS
from generation.models import GenerationRun, Sample
from generation.services.work import work_on
from tests.factories import make_study
from tests.generation.run_factories import make_run
from tests.generation.run_toy import Toy

CONTEXTS = [{"id": "a", "context": "It rained."}, {"id": "b", "context": "A letter came."}]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> GenerationRun:
    """Two contexts, greedy and three temperatures, four samples each."""
    monkeypatch.setattr("generation.services.work.runnable", lambda: ("transformers",))
    decoders = ["greedy", {"temperature": {"from": 0.5, "to": 1.5, "steps": 3}}]
    made = make_run(name="sweep", contexts=CONTEXTS, decoders=decoders, samples=4)
    work_on(run_id=made.pk, worker="w", backend_of=Toy().backend_of)
    made.refresh_from_db()
    return made


def draft(task_type: str = "abs_hds", **values: Any) -> Study:
    return make_study(task_type=task_type, items=0, live=False, **values)


@pytest.mark.django_db
@pytest.mark.parametrize("task_type", ["abs_hds", "asp_hds", "sim_hds"])
def test_sets_by_decoder_parameter_become_items(run: GenerationRun, task_type: str) -> None:
    study = draft(task_type)
    done = items_from_run(study=study, run=run, actor="ann")
    assert (done.items, done.left_out) == (6, 2)  # greedy's one text makes no set
    items = list(study.items.order_by("position"))
    assert [item.external_id for item in items] == ["a/0.5", "a/1", "a/1.5", "b/0.5", "b/1", "b/1.5"]
    task = get_type(task_type)
    assert [task.parameter(item.payload) for item in items[:3]] == [
        ("temperature", 0.5), ("temperature", 1.0), ("temperature", 1.5)
    ]  # fmt: skip
    stored = Sample.objects.filter(context__external_id="a", decoder="ancestral").order_by("number")
    assert task.responses(items[1].payload) == [sample.text.strip() for sample in stored]
    assert items[1].payload["context"] == "It rained."
    assert dict(items[1].payload["extra"]) == {"model": "toy", "decoder": "ancestral"}


@pytest.mark.django_db
def test_what_was_imported_is_on_record(run: GenerationRun) -> None:
    study = draft()
    items_from_run(study=study, run=run, actor="ann")
    entry = AuditEntry.objects.get(study=study, action="import items")
    assert (entry.actor, entry.detail["file"], entry.detail["new"]) == ("ann", "run sweep.jsonl", 6)


@pytest.mark.django_db
def test_sets_of_a_chosen_size(run: GenerationRun) -> None:
    study = draft()
    assert items_from_run(study=study, run=run, actor="ann", set_size=2).items == 12
    assert study.items.filter(external_id="a-1/0.5").exists()
    with pytest.raises(Invalid, match="A set has 2 to 10 texts"):
        items_from_run(study=study, run=run, actor="ann", set_size=5)
    assert study.items.count() == 12


@pytest.mark.django_db
def test_pairs_of_sets_for_a_run_of_two_decoders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.services.work.runnable", lambda: ("transformers",))
    pair = make_run(contexts=CONTEXTS, decoders=["temperature=0.3", "temperature=1.2"], samples=2)
    work_on(run_id=pair.pk, worker="w", backend_of=Toy().backend_of)
    pair.refresh_from_db()
    study = draft("rnk_hds")
    assert items_from_run(study=study, run=pair, actor="ann").items == 2
    item = study.items.order_by("position").first()
    assert item is not None
    assert get_type("rnk_hds").parameter(item.payload) == ("temperature (set 1 − set 2)", -0.9)


@pytest.mark.django_db
def test_the_type_s_own_checks_decide(run: GenerationRun) -> None:
    study = draft("rnk_hds")
    with pytest.raises(TableProblems):  # three sets of one context are no pair
        items_from_run(study=study, run=run, actor="ann")
    assert not Item.objects.filter(study=study).exists()


@pytest.mark.django_db
def test_a_run_that_is_not_done_is_refused(run: GenerationRun) -> None:
    GenerationRun.objects.update(state="running")
    run.refresh_from_db()
    with pytest.raises(Invalid, match=r"The run sweep is not done \(running\)"):
        items_from_run(study=draft(), run=run, actor="ann")


@pytest.mark.django_db
def test_a_run_without_sets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.services.work.runnable", lambda: ("transformers",))
    greedy = make_run(decoders=["greedy"])
    work_on(run_id=greedy.pk, worker="w", backend_of=Toy().backend_of)
    greedy.refresh_from_db()
    with pytest.raises(Invalid, match="Sets take at least two samples of one decoder"):
        items_from_run(study=draft(), run=greedy, actor="ann")


@pytest.mark.django_db
def test_a_study_that_has_left_draft_keeps_its_items(run: GenerationRun) -> None:
    study = make_study(items=2)
    with pytest.raises(Frozen):
        items_from_run(study=study, run=run, actor="ann")
    assert study.items.count() == 2


@pytest.mark.django_db
def test_a_type_that_takes_no_samples_says_so(run: GenerationRun, monkeypatch: pytest.MonkeyPatch) -> None:
    study = draft()
    monkeypatch.setattr(type(get_type("abs_hds")), "run_format", "")
    with pytest.raises(Invalid, match="Studies of the type abs_hds are not made of generated samples"):
        items_from_run(study=study, run=run, actor="ann")


def test_every_type_names_a_format_that_there_is() -> None:
    assert {task.run_format for task in all_types().values()} <= {"", *FORMATS}
    assert FORMATS[get_type("abs_hds").run_format].items


# --- on the command line ---


@pytest.mark.django_db
def test_from_the_command_line(run: GenerationRun) -> None:
    study, out = draft(), io.StringIO()
    call_command("study", "import-run", study.slug, "sweep", stdout=out)
    assert f"{study.slug}: 6 items from the run sweep. 2 samples are in none of them." in out.getvalue()
    with pytest.raises(CommandError, match="There is no run “swep”"):
        call_command("study", "import-run", study.slug, "swep", stdout=out)
    listed = io.StringIO()
    with pytest.raises(CommandError, match="nothing was written"):
        call_command("study", "import-run", study.slug, "sweep", "--set-size", "9", stdout=out, stderr=listed)
    assert "set size: Sets of 9 cannot be made" in listed.getvalue()
