"""What ``manage.py generate`` prints, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from common.commands import aligned
from common.words import counted
from generation.models import GenerationRun, LanguageModel, Sample
from generation.runs.assigning import ONE_PER_CONTEXT
from generation.runs.progress import Progress


def model_lines(models: Sequence[LanguageModel]) -> Iterator[str]:
    """One line for each model, and what is wrong with it."""
    if not models:
        yield "There are no models yet. To register the embedded one, run: manage.py generate register --embedded"
        return
    rows = [("name", "backend", "parameters", "memory", "context", "tokens/s", "state")]
    for model in models:
        rows.append(
            (
                model.name,
                model.backend,
                _count(model.parameters),
                size(model.memory_bytes),
                str(model.context_length or "–"),
                f"{model.tokens_per_second:.0f}" if model.tokens_per_second else "–",
                "retired" if model.retired else model.get_check_state_display(),
            )
        )
    yield from aligned(rows)
    for model in models:
        if model.check_state == LanguageModel.Check.FAILED and not model.retired:
            yield f"{model.name}: {model.check_message}"


def check_lines(model: LanguageModel) -> Iterator[str]:
    """What a check found."""
    if model.check_state != LanguageModel.Check.PASSED:
        yield f"{model.name} does not work: {model.check_message}"
        return
    gives = [name for name, given in (("log p", model.gives_log_p), ("log q", model.gives_log_q)) if given]
    yield f"{model.name} works ({model.check_message})."
    rows = {
        "source": model.source,
        "parameters": _count(model.parameters),
        "memory": size(model.memory_bytes),
        "context": f"{model.context_length:,} tokens" if model.context_length else "–",
        "speed": f"{model.tokens_per_second:.1f} tokens/s (one text at a time)" if model.tokens_per_second else "–",
        "loaded in": f"{model.load_seconds:.1f} s" if model.load_seconds is not None else "–",
        "gives": " and ".join(gives) or "neither log p nor log q",
    }
    yield from (f"  {name:<12}{text}" for name, text in rows.items())


def run_lines(runs: Iterable[GenerationRun]) -> Iterator[str]:
    """One line for each run. Each run must have ``n_done``."""
    rows = [
        (
            run.name,
            run.get_state_display().lower(),
            f"{run.n_done:,} of {run.n_wanted:,}",  # type: ignore[attr-defined]  # annotated by the query
            f"{run.created_at:%Y-%m-%d %H:%M}",
        )
        for run in runs
    ]
    yield from aligned([("run", "state", "samples", "made (UTC)"), *rows]) if rows else ["There are no runs yet."]


def created_lines(run: GenerationRun, created: bool) -> Iterator[str]:
    spec = run.spec
    if not created:
        yield f"{run.name}: this run already exists ({run.get_state_display().lower()}); nothing changed."
        return
    parts = {"context": spec["contexts"]["count"], "model": len(spec["models"]), "decoder": len(spec["decoders"])}
    made_of = ", ".join(counted(number, name) for name, number in parts.items())
    samples, chunks = counted(run.n_wanted, "sample"), counted(run.chunks.count(), "chunk")
    yield f"{run.name}: {samples} in {chunks} ({made_of})."
    if spec["assign"] == ONE_PER_CONTEXT:
        yield from _assignment_lines(parts["context"], parts["model"] * parts["decoder"])


def owner_lines(run: GenerationRun, owned: bool) -> Iterator[str]:
    """Who sees the run in the console."""
    if owned:
        yield f"Owner: {run.created_by}."
    else:
        yield "The run has no owner: only administrators see it in the console. To set one, add --owner USER."


def _assignment_lines(contexts: int, combinations: int) -> Iterator[str]:
    yield "Each context has one model and one decoder."
    if contexts < combinations:
        yield f"Only {contexts:,} of {combinations:,} combinations are used, because there are no more contexts."


def status_lines(run: GenerationRun, found: Progress) -> Iterator[str]:
    yield f"{run.name}: {progress_line(found)}"
    failed = f", {found.chunks_failed:,} failed" if found.chunks_failed else ""
    rows = {
        "chunks": f"{found.chunks_done:,} of {found.chunks:,}{failed}",
        "tokens": f"{found.n_tokens:,}",
        "workers": f"{found.at_work:,} on this run, {found.workers:,} running",
        "started": f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC" if run.started_at else "not yet",
        "ended": f"{run.ended_at:%Y-%m-%d %H:%M:%S} UTC" if run.ended_at else "",
        "note": found.note,
    }
    yield from (f"  {name:<10}{text}" for name, text in rows.items() if text)


def progress_line(found: Progress) -> str:
    """State, share, rate and time left in one line."""
    drawn = f", {found.n_drawn:,} more drawn" if found.n_drawn else ""
    parts = [f"{found.state}, {found.n_done:,} of {found.n_wanted:,} samples ({found.share:.0%}){drawn}"]
    if found.samples_per_second is not None:
        parts.append(f"{found.samples_per_second:,.1f} samples/s, {found.tokens_per_second or 0:,.0f} tokens/s")
    if found.seconds_left is not None:
        parts.append(f"{duration(found.seconds_left)} left")
    return ", ".join(parts)


def reproduction_lines(sample: Sample, text: str, same_tokens: bool, here: str, then: str) -> Iterator[str]:
    """Whether a sample came out as it was stored, and if not, possible reasons."""
    yield f"stored:   {sample.text!r}"
    yield f"made now: {text!r}"
    if text == sample.text:
        yield "The texts are equal." + ("" if same_tokens else " Their tokens differ.")
        return
    yield f"The texts differ. Stored by: {then or 'unknown'}. Made now: {here}."
    if then and then != here:
        yield "Another device, dtype or library gives slightly different probabilities, and so different texts."
    else:
        yield (
            "On the same device and dtype, probabilities still depend slightly on the batch a text was made in, as "
            "floating-point numbers are summed in another order; now and then this changes a draw. A "
            "server (backend openai) may ignore the seed."
        )


def ended_line(run: GenerationRun) -> str:
    """Why a run ended before it was done."""
    how = {"failed": "has failed", "cancelled": "was cancelled"}.get(run.state, f"is {run.state}")
    return f"The run {run.name} {how}. {run.message}".strip()


def duration(seconds: float) -> str:
    """Seconds in a readable form: 45 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def size(count: int | None) -> str:
    """Bytes as MB or GB (powers of ten)."""
    if count is None:
        return "–"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _count(number: int | None) -> str:
    if number is None:
        return "–"
    return f"{number / 1e9:.2f} B" if number >= 1e9 else f"{number / 1e6:.1f} M"
