"""A stored suggestion drawn again."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from common.problems import Invalid
from generation.backends.base import ModelSpec
from generation.models import LanguageModel, Suggestion
from generation.suggestions import reproducing_suggestions as service
from generation.suggestions.suggester_process import SuggesterProcess
from tests.generation.support.toy_suggestions import ToyBackend, ToyShop, ask_for, make_suggester

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("everything_installed")]


def toy_backend(model: LanguageModel) -> ToyBackend:
    return ToyBackend(ModelSpec(model.backend, model.source))


def answered(key: str = "k", word_list: str = "") -> Suggestion:
    row = ask_for(make_suggester(decoder="top_k=40", priming="A story.", word_list=word_list), key)
    process = SuggesterProcess(open_backend=ToyShop(), poll=0)
    process.run(until=lambda: not Suggestion.objects.filter(state="waiting").exists())
    row.refresh_from_db()
    return row


def test_it_gives_the_same_text_after_an_unusable_draw() -> None:
    # The toy's texts name one of eight people: with five on the list, the first draw for “m” is of no use.
    row = answered("m", word_list="Ada\nBo\nCy\nDee\nEve")
    assert row.parameters["seed"] != row.seed

    reproduced = service.reproduce_suggestion(suggestion_id=row.pk, backend_of=toy_backend)

    assert reproduced.same
    assert reproduced.raw_text == row.raw_text
    assert (reproduced.now, reproduced.then) == ("toy on nowhere", "toy on nowhere")


def test_another_text_is_noticed() -> None:
    row = answered()
    Suggestion.objects.filter(pk=row.pk).update(parameters=row.parameters | {"seed": 1})

    assert not service.reproduce_suggestion(suggestion_id=row.pk, backend_of=toy_backend).same


def test_a_text_that_no_model_wrote_cannot_be_reproduced() -> None:
    row = ask_for(make_suggester())

    for pk, message in ((row.pk, "No model wrote it"), (row.pk + 1, "There is no suggestion")):
        with pytest.raises(Invalid, match=message):
            service.reproduce_suggestion(suggestion_id=pk, backend_of=toy_backend)


def test_the_command_says_whether_it_was_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    row, out = answered(), StringIO()
    monkeypatch.setattr("generation.registry.open_models.backend_of", toy_backend)

    call_command("suggester", "reproduce", str(row.pk), stdout=out)

    assert out.getvalue().splitlines() == [f"Then, toy on nowhere: {row.raw_text!r}", "Here, toy on nowhere: the same"]
    Suggestion.objects.filter(pk=row.pk).update(raw_text="something else")
    with pytest.raises(CommandError, match="not reproduced"):
        call_command("suggester", "reproduce", str(row.pk), stdout=out)
