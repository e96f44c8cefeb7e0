"""The registry of language models: registered, retired, never changed. ``checking`` finds out whether they work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from accounts.log import Kind, record
from common.problems import Invalid, Problem, invalid, refuse_if_any, unknown
from generation.amounts import read_usd
from generation.backends import server_permissions
from generation.backends.addresses import AddressError, read_addresses
from generation.backends.base import BackendError, ModelSpec
from generation.backends.vllm_options import read_options
from generation.models import LanguageModel
from generation.registry.open_models import EMBEDDED_SOURCE

#: In US dollars for a million tokens.
MOST_PRICE = Decimal(100_000)
EMBEDDED_NAMES = {"transformers": "smollm2-135m", "llama_cpp": "smollm2-135m-llama"}
DTYPES = ("auto", "float32", "bfloat16", "float16", "int8")
_DEVICE = re.compile(r"auto|cpu|cuda(:\d{1,2})?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


def register_model(
    *,
    name: str,
    backend: str,
    source: str,
    revision: str = "",
    dtype: str = "auto",
    device: str = "auto",
    base_url: str = "",
    key_variable: str = "",
    chat: bool = False,
    options: Mapping[str, Any] | None = None,
    actor: str = "",
) -> LanguageModel:
    """A new model, or the existing one with this name and exactly these values. Raises Invalid.

    ``check_model`` finds out whether it works, on a machine that has the model's requirements.
    """
    values: dict[str, Any] = {
        "backend": backend,
        "source": source.strip(),
        "revision": revision,
        "dtype": dtype,
        "device": device,
        "base_url": base_url.strip().rstrip("/"),
        "key_variable": key_variable,
        "chat": chat,
        "options": dict(options or {}),
    }
    refuse_if_any(_problems(name, values))
    try:
        with transaction.atomic():
            model = LanguageModel.objects.create(name=name, **values)
            detail = {field: values[field] for field in ("backend", "source", "base_url", "key_variable")}
            record(kind=Kind.MODELS, actor=actor, action="model registered", about=name, **detail)
            return model
    except IntegrityError:
        existing = LanguageModel.objects.get(name=name)
    stored = {field: getattr(existing, field) for field in values}
    differences = [f"{field} {stored[field]!r}" for field, value in values.items() if stored[field] != value]
    if differences:
        what = f"There is already a model “{name}”, with {', '.join(differences)}."
        raise invalid("name", what, "Models never change, because samples refer to them: choose another name.")
    return existing


def ensure_embedded_model(*, backend: str = "transformers", actor: str = "") -> LanguageModel:
    """The model that comes as a package; registers it if needed. Raises Invalid."""
    if backend not in EMBEDDED_NAMES:
        raise Invalid([unknown("backend", backend, EMBEDDED_NAMES)])
    return register_model(name=EMBEDDED_NAMES[backend], backend=backend, source=EMBEDDED_SOURCE, actor=actor)


def find_model(name: str) -> LanguageModel:
    """The model called ``name``. Raises Invalid, with the closest name that exists."""
    model = LanguageModel.objects.filter(name=name).first()
    if model is None:
        raise Invalid([unknown("model", name, LanguageModel.objects.order_by("name").values_list("name", flat=True))])
    return model


@transaction.atomic
def set_price(*, name: str, read: str, written: str, actor: str = "") -> LanguageModel:
    """What a hosted model charges for a million tokens of prompts and of texts. No sample depends on it, so it may
    change. Raises Invalid."""
    model, problems, prices = find_model(name), list[Problem](), dict[str, Decimal]()
    for what, value in (("read", read), ("written", written)):
        try:
            prices[f"price_{what}"] = read_usd(value, most=MOST_PRICE)
        except ValueError as error:
            problems.append(Problem(what, f"The price is {value!r}.", str(error)))
    refuse_if_any(problems)
    LanguageModel.objects.filter(pk=model.pk).update(**prices)
    shown: dict[str, Any] = {field: str(price) for field, price in prices.items()}
    record(kind=Kind.MODELS, actor=actor, action="price changed", about=name, **shown)
    model.refresh_from_db()
    return model


@transaction.atomic
def retire_model(*, model_id: int, retired: bool = True, actor: str = "") -> None:
    """Stop new runs and suggesters from using the model, or allow it again. What it generated stays."""
    if LanguageModel.objects.filter(pk=model_id).exclude(retired=retired).update(retired=retired):
        name = LanguageModel.objects.values_list("name", flat=True).get(pk=model_id)
        record(kind=Kind.MODELS, actor=actor, action="model retired" if retired else "model allowed again", about=name)


def _problems(name: str, values: Mapping[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    if not _NAME.fullmatch(name):
        fix = "Use 1 to 60 letters, digits, hyphens and underscores."
        problems.append(Problem("name", f"“{name[:70]}” is not a valid name.", fix))
    if values["backend"] not in LanguageModel.Backend.values:
        problems.append(unknown("backend", values["backend"], LanguageModel.Backend.values))
    if not values["source"] or len(values["source"]) > 500 or not values["source"].isprintable():
        fix = "Give a hub name, a folder, a GGUF file, or the model’s name on a server."
        problems.append(Problem("source", f"The source is {values['source'][:60]!r}.", fix))
    if values["dtype"] not in DTYPES:
        problems.append(unknown("dtype", values["dtype"], DTYPES))
    if not _DEVICE.fullmatch(values["device"]):
        problems.append(
            Problem("device", f"“{values['device'][:30]}” is not a device.", "Write auto, cpu, cuda or cuda:N.")
        )
    if len(values["revision"]) > 100:
        problems.append(Problem("revision", "The revision is too long.", "Use at most 100 characters."))
    if values["backend"] == LanguageModel.Backend.VLLM:
        options = tuple(values["options"].items())
        try:
            read_options(
                ModelSpec("vllm", values["source"], dtype=values["dtype"], device=values["device"], options=options)
            )
        except BackendError as error:  # the first thing that is wrong with its options, its dtype or its device
            what, _, fix = str(error).partition("; ")
            problems.append(Problem("options", f"{what}.", f"{fix[:1].upper()}{fix[1:]}"))
    problems += _server_problems(values)
    return problems


def _server_problems(values: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the addresses of its servers and the variable with their key."""
    problems: list[Problem] = []
    variable, url = values["key_variable"], values["base_url"]
    if variable and not server_permissions.is_key_variable(variable):
        # It may be the key itself, so it is not repeated.
        what = "This is not a variable for the key of a model server."
        problems.append(Problem("key_variable", what, server_permissions.key_fix()))
    if values["backend"] != LanguageModel.Backend.OPENAI:
        if url or variable:
            what = f"The backend {values['backend']} does not use a server."
            problems.append(Problem("base_url", what, "Remove base_url and key_variable, or use the backend openai."))
        return problems
    try:
        servers = read_addresses(url)
    except AddressError as error:
        fix = "Write it as http://127.0.0.1:8000/v1, without a key in it; several with commas between them."
        return [*problems, Problem("base_url", str(error), fix)]
    for server in servers:
        if why := server_permissions.why_not_host(server.url):
            problems.append(Problem("base_url", why, server_permissions.host_fix(server.url)))
    return problems
