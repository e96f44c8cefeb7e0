"""Generate a stored suggestion again from what was stored with it, to show that it can be reproduced."""

from __future__ import annotations

from dataclasses import dataclass

from common.problems import invalid
from generation.backends.base import BackendError, Generated, Request
from generation.backends.requirements import why_not
from generation.decoding.conversations import messages_in
from generation.decoding.decoders import Limits, parse_decoder
from generation.models import Suggestion
from generation.registry import open_models
from generation.registry.open_models import BackendOf
from generation.registry.registration import find_model


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The stored suggestion and the raw text its seed gives now. ``now`` and ``then``: dtype and device."""

    suggestion: Suggestion
    raw_text: str
    same: bool
    now: str
    then: str


def reproduce_suggestion(*, suggestion_id: int, backend_of: BackendOf | None = None) -> Reproduced:
    """Generate the model's text for one suggestion again, alone. Writes nothing. Raises Invalid or BackendError.

    For the command line: it loads the model. Expect the same text with the same model file, dtype, device and library
    versions, all of which are in the suggestion's ``parameters``.
    """
    row = Suggestion.objects.filter(pk=suggestion_id).first()
    if row is None:
        raise invalid("suggestion", f"There is no suggestion {suggestion_id}.")
    parameters = row.parameters
    if "seed" not in parameters:
        raise invalid("suggestion", "No model wrote it.", "It came from the pool, or it is still waiting.")
    model = find_model(parameters["model"]["name"])
    if lacking := why_not(model.backend):
        raise BackendError(lacking)
    backend = (backend_of or open_models.backend_of)(model)
    request = Request(
        key=row.pk,
        prompt=row.prompt,
        decoder=parse_decoder(parameters["decoder"]),
        limits=Limits(**parameters["limits"]),
        seed=parameters["seed"],
        keep=parameters["keep"],
        messages=messages_in(row.conversation),
    )
    outcome = backend.generate([request])[0]
    if not isinstance(outcome, Generated):
        raise BackendError(f"The model refused the prompt: {outcome.reason}")
    facts, text = backend.facts(), outcome.text.replace("\x00", "")
    return Reproduced(
        suggestion=row,
        raw_text=text,
        same=text == row.raw_text,
        now=f"{facts.dtype} on {facts.device}",
        then=f"{parameters['dtype']} on {parameters['device']}",
    )
