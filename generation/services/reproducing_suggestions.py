"""One stored suggestion drawn again from what was stored with it, to see that it can be."""

from __future__ import annotations

from dataclasses import dataclass

from generation.backends.base import Backend, BackendError, Generated, Request
from generation.decoders import Limits, parse_decoder
from generation.models import LanguageModel, Suggestion
from generation.problems import invalid
from generation.requirements import why_not
from generation.services.models import BackendOf, find_model


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The stored suggestion and the raw text its seed gives here and now. ``here`` and ``then``: dtype and device."""

    suggestion: Suggestion
    raw_text: str
    same: bool
    here: str
    then: str


def reproduce_suggestion(*, suggestion_id: int, backend_of: BackendOf | None = None) -> Reproduced:
    """Generate what the model wrote for one suggestion again, alone. Writes nothing. Raises Invalid or BackendError.

    For the command line: it loads the model. The same text is to be expected with the same model file, dtype, device
    and library versions, all of which are in the suggestion's ``parameters``.
    """
    row = Suggestion.objects.filter(pk=suggestion_id).first()
    if row is None:
        raise invalid("suggestion", f"There is no suggestion {suggestion_id}.")
    made = row.parameters
    if "seed" not in made:
        raise invalid("suggestion", "No model wrote it.", "It came from the pool, or it still waits.")
    model = find_model(made["model"]["name"])
    if lacking := why_not(model.backend):
        raise BackendError(lacking)
    backend = (backend_of or _held)(model)
    request = Request(
        key=row.pk,
        prompt=row.prompt,
        decoder=parse_decoder(made["decoder"]),
        limits=Limits(**made["limits"]),
        seed=made["seed"],
        keep=made["keep"],
    )
    outcome = backend.generate([request])[0]
    if not isinstance(outcome, Generated):
        raise BackendError(f"The model refused the prompt: {outcome.reason}")
    facts, text = backend.facts(), outcome.text.replace("\x00", "")
    return Reproduced(
        suggestion=row,
        raw_text=text,
        same=text == row.raw_text,
        here=f"{facts.dtype} on {facts.device}",
        then=f"{made['dtype']} on {made['device']}",
    )


def _held(model: LanguageModel) -> Backend:
    from generation.services.holding import backend_of

    return backend_of(model)
