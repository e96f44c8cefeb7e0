"""Runs made on the command line have an owner, who sees them in the console."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from annotation.access import runs_of
from generation.models import GenerationRun
from tests.factories import make_researcher
from tests.generation.support.run_factories import make_model
from tests.generation.support.toy_runs import Toy

pytestmark = pytest.mark.django_db

RUN = "name: small\nmodels: [toy]\ndecoders: [greedy]\ncontexts: [One]\nlimits: {exact: 5}\n"


@pytest.fixture
def file(tmp_path: Path, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_model()
    monkeypatch.setattr("generation.queueing.send_work", lambda run_id: None)
    path = tmp_path / "small.run.yaml"
    path.write_text(RUN)
    return path


def apply(file: Path, *more: str) -> str:
    out = io.StringIO()
    call_command("generate", "apply", str(file), *more, stdout=out, stderr=out)
    return out.getvalue()


def refusal(file: Path, *more: str) -> str:
    out = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was written"):
        call_command("generate", "apply", str(file), *more, stdout=out, stderr=out)
    return out.getvalue()


def names(user: User) -> list[str]:
    return [run.name for run in runs_of(user)]


@pytest.mark.parametrize("named", ["ada", "ada@lab.example", "ADA@lab.example"])
def test_the_named_owner_sees_the_run_and_others_do_not(file: Path, named: str) -> None:
    ada = make_researcher("ada", email="ada@lab.example")
    bob = make_researcher("bob", email="bob@lab.example")
    assert "Owner: ada." in apply(file, "--owner", named)
    assert (names(ada), names(bob)) == (["small"], [])


def test_without_a_name_the_only_administrator_is_the_owner(file: Path) -> None:
    make_researcher("ada")
    User.objects.create_superuser("root")
    User.objects.create_superuser("gone", is_active=False)
    assert "Owner: root." in apply(file)


@pytest.mark.parametrize("administrators", [0, 2])
def test_without_one_administrator_the_command_says_how_to_give_an_owner(file: Path, administrators: int) -> None:
    for number in range(administrators):
        User.objects.create_superuser(f"root{number}")
    assert "The run has no owner: only administrators see it in the console. To set one, add --owner USER." in apply(
        file
    )
    assert GenerationRun.objects.get().created_by == ""


def test_the_owner_can_be_set_later_and_changed(file: Path) -> None:
    ada, bob = make_researcher("ada"), make_researcher("bob")
    apply(file)
    output = apply(file, "--owner", "ada")
    assert "already exists (waiting); nothing changed." in output and "Owner: ada." in output
    assert "Owner: ada." in apply(file)  # applying again without a name leaves the owner
    apply(file, "--owner", "bob")
    assert (names(ada), names(bob)) == ([], ["small"])


def test_an_administrator_does_not_become_the_owner_of_a_run(file: Path) -> None:
    make_researcher("ada")
    apply(file, "--owner", "ada")
    User.objects.create_superuser("root")
    assert "Owner: ada." in apply(file)


def test_an_unknown_owner_is_refused_with_the_closest_name(file: Path) -> None:
    make_researcher("ada.lovelace")
    make_researcher("gone", is_active=False)
    assert "owner: There is no “ada.lovelac”. Did you mean “ada.lovelace”?" in refusal(file, "--owner", "ada.lovelac")
    assert "owner: There is no “gone”." in refusal(file, "--owner", "gone")
    assert not GenerationRun.objects.exists()


def test_an_address_that_two_users_share_is_refused(file: Path) -> None:
    make_researcher("ada", email="lab@lab.example")
    make_researcher("bob", email="lab@lab.example")
    output = refusal(file, "--owner", "lab@lab.example")
    assert "2 users have the address lab@lab.example. Give the user name." in output
