"""Runs with their samples, as a finished run leaves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generation.models import Chunk, GenerationRun, LanguageModel, RunContext, Sample


def make_run(
    texts: Mapping[str, Sequence[Sequence[str]]],
    *,
    name: str = "sweep",
    n_wanted: int | None = None,
    model: str = "tiny",
) -> GenerationRun:
    """``texts``: for each decoder the samples of each context. Every token has log p −1 and log q −0.5."""
    held, _ = LanguageModel.objects.get_or_create(name=model, defaults={"backend": "transformers", "source": "x"})
    n = sum(len(samples) for contexts in texts.values() for samples in contexts)
    run, _ = GenerationRun.objects.get_or_create(
        name=name,
        defaults={
            "spec": {
                "models": [model],
                "decoders": list(texts),
                "samples": max((len(samples) for contexts in texts.values() for samples in contexts), default=1),
                "limits": {"max_new_tokens": 10},
            },
            "spec_hash": "0" * 64,
            "seed": 7,
            "n_wanted": n if n_wanted is None else n_wanted,
            "state": "done",
        },
    )
    chunk = Chunk.objects.create(run=run, number=run.chunks.count(), model=held, places=[], n_samples=n, state="done")
    for decoder, contexts in texts.items():
        for position, samples in enumerate(contexts):
            context, _ = RunContext.objects.get_or_create(
                run=run, number=position, defaults={"external_id": f"c{position}", "prompt": f"Prompt {position}"}
            )
            for number, text in enumerate(samples):
                n_tokens = len(text.split())
                Sample.objects.create(
                    run=run,
                    context=context,
                    model=held,
                    chunk=chunk,
                    decoder=decoder,
                    number=number,
                    seed=number,
                    text=text,
                    n_tokens=n_tokens,
                    log_p=-float(n_tokens),
                    log_q=None if decoder == "greedy" else -0.5 * n_tokens,
                    finish_reason="length",
                    seconds=0.1,
                )
    return run
