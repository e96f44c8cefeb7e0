"""The registry: what can be registered, what a check finds and how it fails."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import LogEntry
from common.problems import Invalid
from generation.backends.base import BackendError, Facts, Generated
from generation.models import LanguageModel
from generation.registry.checking import check_model
from generation.registry.open_models import spec_of
from generation.registry.registration import (
    ensure_embedded_model,
    find_model,
    register_model,
    retire_model,
)
from tests.generation.support.run_factories import make_model
from tests.generation.support.toy_runs import Toy

GIVEN: dict[str, Any] = {"name": "gpt2", "backend": "transformers", "source": "openai-community/gpt2"}
SERVER: dict[str, Any] = {"name": "far", "backend": "openai", "source": "m", "base_url": "http://127.0.0.1:8000/v1"}


def problems(**values: Any) -> list[str]:
    with pytest.raises(Invalid) as caught:
        register_model(**values)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.django_db
def test_a_model_is_registered_once_and_the_same_again_is_the_same() -> None:
    first = register_model(**GIVEN, options={"threads": 2})
    assert register_model(**GIVEN, options={"threads": 2}).pk == first.pk
    assert first.check_state == "waiting"
    messages = problems(**GIVEN, dtype="bfloat16")
    assert messages == [
        "name: There is already a model “gpt2”, with dtype 'auto', options {'threads': 2}. "
        "Models never change, because samples refer to them: choose another name."
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "gpt 2"}, "name: “gpt 2” is not a valid name"),
        ({"name": "x" * 61}, "is not a valid name"),
        ({"backend": "transformer"}, "backend: There is no “transformer”. Did you mean “transformers”?"),
        ({"source": " "}, "source: The source is ''"),
        ({"source": "a\x00b"}, "source: The source is"),
        ({"dtype": "bf16"}, "dtype: There is no “bf16”. Did you mean “bfloat16”?"),
        ({"device": "gpu"}, "device: “gpu” is not a device. Write auto, cpu, cuda or cuda:N."),
        ({"device": "mps"}, "device: “mps” is not a device. Write auto, cpu, cuda or cuda:N."),
        ({"device": "mps"}, "device: “mps” is not a device."),
        ({"base_url": "http://x/v1"}, "base_url: The backend transformers does not use a server"),
        (SERVER | {"base_url": ""}, "base_url: The address is missing"),
        (SERVER | {"base_url": "127.0.0.1:8000"}, "base_url: This is not the address of a server"),
        (SERVER | {"base_url": "http://key@h/v1"}, "base_url: This is not the address of a server"),
    ],
)  # fmt: skip
def test_invalid_models_are_refused(changes: dict[str, Any], message: str) -> None:
    messages = problems(**(GIVEN | changes))
    assert len(messages) == 1, messages
    assert message in messages[0]
    assert not LanguageModel.objects.exists()


@pytest.mark.django_db
def test_a_key_given_in_place_of_its_variable_s_name_is_refused_and_not_repeated() -> None:
    messages = problems(**SERVER, key_variable="sk-123secret")
    assert "not a variable for the key of a model server" in messages[0]
    assert "HITSERVER_MODEL_KEY_LAB" in messages[0]
    assert "sk-123secret" not in str(messages)
    assert register_model(**SERVER, key_variable="HITSERVER_MODEL_KEY_LAB").key_variable == "HITSERVER_MODEL_KEY_LAB"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["HITSERVER_SECRET_KEY", "OPENAI_API_KEY", "HITSERVER_MODEL_KEY_", "DATABASE_URL"])
def test_the_servers_own_secrets_cannot_be_named_as_a_key(name: str) -> None:
    assert "not a variable for the key of a model server" in problems(**SERVER, key_variable=name)[0]
    assert not LanguageModel.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "listed", "allowed"),
    [
        ("http://127.0.0.1:8000/v1", None, True),
        ("http://localhost:8000/v1", None, True),
        ("http://LocalHost/v1", None, True),
        ("http://[::1]:8000/v1", None, True),
        ("https://evil.example/v1", None, False),
        ("http://127.0.0.1.evil.example/v1", None, False),
        ("http://169.254.169.254/v1", None, False),
        ("http://gpu-1.lab:8000/v1", ["gpu-1.lab"], True),
        ("http://gpu-1.lab:8000/v1", ["GPU-1.lab:8000"], True),
        ("http://gpu-1.lab:8001/v1", ["gpu-1.lab:8000"], False),
        ("https://api.lab/v1", ["api.lab:443"], True),
        ("http://127.0.0.1:8000/v1", ["api.lab"], False),
    ],
)
def test_only_listed_servers_can_be_registered(
    address: str, listed: list[str] | None, allowed: bool, settings: Any
) -> None:
    if listed is not None:
        settings.MODEL_SERVERS = listed
    if allowed:
        register_model(**SERVER | {"base_url": address})
        return
    (problem,) = problems(**SERVER | {"base_url": address})
    assert "This server may not send anything to" in problem
    assert "HITSERVER_MODEL_SERVERS=" in problem


@pytest.mark.django_db
def test_who_registered_and_retired_a_model_is_in_the_log() -> None:
    model = register_model(**SERVER, actor="ann")
    register_model(**SERVER, actor="bob")  # there already
    for retired in (True, True, False):
        retire_model(model_id=model.pk, retired=retired, actor="bob")
    entries = LogEntry.objects.filter(kind="models").order_by("pk").values_list("actor", "action", "about")
    assert list(entries) == [
        ("ann", "model registered", model.name),
        ("bob", "model retired", model.name),
        ("bob", "model allowed again", model.name),
    ]


@pytest.mark.django_db
def test_backends_open_models_with_their_options() -> None:
    model = register_model(**GIVEN, revision="main", dtype="int8", device="cuda:1", chat=True, options={"b": 1, "a": 2})
    spec = spec_of(model)
    assert (spec.backend, spec.source, spec.revision, spec.dtype) == ("transformers", GIVEN["source"], "main", "int8")
    assert (spec.device, spec.chat, spec.options) == ("cuda:1", True, (("a", 2), ("b", 1)))


@pytest.mark.django_db
def test_the_embedded_model_is_a_path_only_where_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.registry.open_models.embedded_source", lambda: "/here/SmolLM2.gguf")
    model = ensure_embedded_model()
    assert (model.name, model.source) == ("smollm2-135m", "embedded")
    assert spec_of(model).source == "/here/SmolLM2.gguf"
    assert ensure_embedded_model().pk == model.pk
    assert ensure_embedded_model(backend="llama_cpp").name == "smollm2-135m-llama"
    with pytest.raises(Invalid, match="There is no “openai”"):
        ensure_embedded_model(backend="openai")


@pytest.mark.django_db
def test_a_check_notes_what_the_model_says_of_itself_and_its_speed(everything_installed: None) -> None:
    toy = Toy()
    model = check_model(model_id=make_model().pk, backend_of=toy.backend_of)
    assert (model.check_state, model.check_message) == ("passed", "float32 on cpu")
    assert (model.parameters, model.memory_bytes, model.context_length) == (1_000, 4_000, 512)
    assert (model.gives_log_p, model.gives_log_q) == (True, True)
    assert model.tokens_per_second is not None
    assert model.tokens_per_second > 0
    assert model.load_seconds is not None
    assert len(toy.seen) == 2  # the first warms up, the second is measured


def raising(error: Exception) -> Toy:
    def fail(number: int) -> None:
        raise error

    return Toy(before=fail)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BackendError("There is no folder /nowhere."), "There is no folder /nowhere."),
        (MemoryError(), "There is not enough memory."),
        (RuntimeError("PytorchStreamReader failed\nmore"), "RuntimeError: PytorchStreamReader failed"),
    ],
)
def test_a_check_that_fails_is_a_message(everything_installed: None, error: Exception, message: str) -> None:
    model = check_model(model_id=make_model().pk, backend_of=raising(error).backend_of)
    assert model.check_state == "failed"
    assert model.check_message.startswith(message)
    again = check_model(model_id=model.pk, backend_of=Toy().backend_of)
    assert (again.check_state, again.check_message) == ("passed", "float32 on cpu")


class Mute(Toy):
    def generate(self, requests: Any, on_done: Any = None) -> list[Any]:
        return [Generated("", (), 0, 0.0, 0.0, "end", 0.1, 1)]

    def facts(self) -> Facts:
        return Facts(None, None, None, None, "", "a server", gives_log_p=False, gives_log_q=False)


@pytest.mark.django_db
def test_a_model_that_generates_nothing_does_not_work(everything_installed: None) -> None:
    model = check_model(model_id=make_model().pk, backend_of=Mute().backend_of)
    assert (model.check_state, model.check_message) == ("failed", "The model loads but generates nothing.")


@pytest.mark.django_db
def test_a_machine_without_the_libraries_says_so(nothing_installed: None) -> None:
    toy = Toy()
    model = check_model(model_id=make_model().pk, backend_of=toy.backend_of)
    assert "transformers needs no_such_library" in model.check_message
    assert toy.loads == 0


@pytest.mark.django_db
def test_a_model_is_retired_and_brought_back() -> None:
    model = make_model()
    retire_model(model_id=model.pk)
    assert find_model("toy").retired is True
    retire_model(model_id=model.pk, retired=False)
    assert find_model("toy").retired is False
    with pytest.raises(Invalid, match="Did you mean “toy”"):
        find_model("toi")
