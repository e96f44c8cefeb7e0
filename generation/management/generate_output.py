"""What ``manage.py generate`` prints, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from common.commands import aligned
from common.words import counted
from generation.models import GenerationRun, LanguageModel
from generation.runs.assigning import ONE_PER_CONTEXT
from generation.runs.progress import Progress
from generation.runs.reproducing_samples import Reproduced


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
    gives = [name for name, is_given in (("log p", model.gives_log_p), ("log q", model.gives_log_q)) if is_given]
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
        contexts, combinations = parts["context"], parts["model"] * parts["decoder"]
        yield "Each context has one model and one decoder."
        if contexts < combinations:
            yield f"Only {contexts:,} of {combinations:,} combinations are used, because there are no more contexts."


def owner_lines(run: GenerationRun, owned: bool) -> Iterator[str]:
    """Who sees the run in the console."""
    if owned:
        yield f"Owner: {run.created_by}."
    else:
        yield "The run has no owner: only administrators see it in the console. To set one, add --owner USER."


def status_lines(run: GenerationRun, figures: Progress) -> Iterator[str]:
    yield f"{run.name}: {progress_line(figures)}"
    failed = f", {figures.chunks_failed:,} failed" if figures.chunks_failed else ""
    rows = {
        "chunks": f"{figures.chunks_done:,} of {figures.chunks:,}{failed}",
        "tokens": f"{figures.n_tokens:,}",
        "workers": f"{figures.at_work:,} on this run, {figures.workers:,} running",
        "started": f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC" if run.started_at else "not yet",
        "ended": f"{run.ended_at:%Y-%m-%d %H:%M:%S} UTC" if run.ended_at else "",
        "note": figures.note,
    }
    yield from (f"  {name:<10}{text}" for name, text in rows.items() if text)


def progress_line(figures: Progress) -> str:
    """State, share, rate and time left in one line."""
    drawn = f", {figures.n_drawn:,} more drawn" if figures.n_drawn else ""
    parts = [f"{figures.state}, {figures.n_done:,} of {figures.n_wanted:,} samples ({figures.share:.0%}){drawn}"]
    if figures.samples_per_second is not None:
        parts.append(f"{figures.samples_per_second:,.1f} samples/s, {figures.tokens_per_second or 0:,.0f} tokens/s")
    if figures.seconds_left is not None:
        parts.append(f"{duration(figures.seconds_left)} left")
    return ", ".join(parts)


def reproduction_lines(reproduced: Reproduced) -> Iterator[str]:
    """Whether a sample came out as it was stored, and if not, possible reasons."""
    yield f"stored:   {reproduced.sample.text!r}"
    yield f"made now: {reproduced.text!r}"
    if reproduced.text == reproduced.sample.text:
        yield "The texts are equal." + ("" if reproduced.same_tokens else " Their tokens differ.")
        return
    yield f"The texts differ. Stored by: {reproduced.then or 'unknown'}. Made now: {reproduced.now}."
    if reproduced.then and reproduced.then != reproduced.now:
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
