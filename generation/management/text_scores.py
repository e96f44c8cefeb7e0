"""The log-probabilities of the texts of a table, as new columns."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

from tqdm import tqdm

from analysis.diversity.set_files import read_sets, write_sets
from analysis.tables import require_columns
from generation.backends.base import Backend

LOG_P, N_TOKENS, PER_TOKEN, TOKENS = "log_p", "n_tokens", "log_p_per_token", "token_log_ps"


def write_scores(
    backend: Backend, path: Path, *, text: str, prompt: str, out: str, with_tokens: bool
) -> tuple[int, list[str]]:
    """Write the table with the columns log_p, n_tokens and log_p_per_token. Returns how many rows have a score, and a
    line for each that has none. InputError (a ValueError): a file or a column that is not there."""
    frame = read_sets(path)
    require_columns(list(frame.columns), path, text, *([prompt] if prompt else []))
    texts = [str(cell or "") for cell in frame[text]]
    prompts = [str(cell or "") for cell in frame[prompt]] if prompt else [""] * len(texts)
    added: dict[str, list[str]] = {name: [""] * len(texts) for name in (LOG_P, N_TOKENS, PER_TOKEN, TOKENS)}
    reasons: dict[int, str] = {}
    scoring = import_module("generation.backends.scoring")  # imports torch
    pairs = list(zip(prompts, texts, strict=True))
    bar = tqdm(scoring.score_texts(backend, pairs), total=len(pairs), unit=" texts", disable=None, file=sys.stderr)
    for number, score in bar:
        if not isinstance(score, scoring.TextScore):
            reasons[number] = f"row {frame.index[number]}: {score.reason}"
            continue
        count = len(score.token_log_ps)
        added[LOG_P][number] = f"{score.log_p:.6f}"
        added[N_TOKENS][number] = str(count)
        added[PER_TOKEN][number] = f"{score.log_p / count:.6f}"
        added[TOKENS][number] = json.dumps([round(log_p, 6) for log_p in score.token_log_ps])
    for name, cells in added.items():
        if name != TOKENS or with_tokens:
            frame[name] = cells
    write_sets(frame, None if out == "-" else out, like=path)
    return len(texts) - len(reasons), [reasons[number] for number in sorted(reasons)]
