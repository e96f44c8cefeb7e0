"""Small files that would fill the memory: each is refused using little of it, with a short message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from generation.decoding.prompts import longest_prompt, make_prompt
from tests.memory import run_limited

HEAD = "name: r\nmodels: [m]\n"
READ = """
from pathlib import Path
from common.problems import Invalid
from generation.runs.run_files import read_run_file
try:
    read_run_file(Path({path!r}))
    print("read")
except Invalid as refused:
    print("\\n".join(map(str, refused.problems)))
"""


def read_limited(path: Path, *, megabytes: int) -> str:
    return run_limited(
        READ.format(path=str(path)), imports="import generation.runs.run_files", megabytes=megabytes
    ).strip()


def aliases() -> str:
    """Ten lines of 400 bytes in all, which stand for 10 million values."""
    layers = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 8)]
    return "\n".join([HEAD + "l0: &l0 [x]", *layers, "decoders: [*l7]", "contexts: [x]"])


def flat_lists() -> str:
    return f"{HEAD}decoders: [{'[],' * 2_600_000}]\ncontexts: [x]\n"


def sweeps() -> str:
    sweep = "{{temperature: {{from: 0.{0:05}, to: 9.{0:05}, steps: 1000}}}}"
    listed = ", ".join(sweep.format(number) for number in range(10_000, 14_000))
    return f"{HEAD}decoders: [{listed}]\ncontexts: [x]\n"


def priming() -> str:
    contexts = "\n".join(f"- c{number}" for number in range(20_000))
    return f"{HEAD}decoders: [greedy]\npriming: {'p' * 1_000_000}\ncontexts:\n{contexts}\n"


def template() -> str:
    contexts = f"[{'x' * 1_000_000}]"
    return f"{HEAD}decoders: [greedy]\ntemplate: '{'{context}' * 100_000}'\ncontexts: {contexts}\n"


def models_and_decoders() -> str:
    models = ", ".join(f"m{number}" for number in range(20_000))
    sweep = "{top_k: {from: 1, to: 9999, steps: 999}}"
    return f"name: r\nmodels: [{models}]\ndecoders: [{sweep}]\nassign: one_per_context\ncontexts: [x]\n"


def chunks() -> str:
    contexts = "\n".join(f"- c{number}" for number in range(300))
    return f"{HEAD}decoders: [ancestral]\nsamples: 1000\nchunk_size: 1\ncontexts:\n{contexts}\n"


@pytest.mark.parametrize(
    ("attack", "megabytes", "message"),
    [
        (aliases, 50, "a.yaml: Line 3 uses an anchor (&) or an alias (*). Write the value out"),
        (flat_lists, 200, "more than 100,000 values; line 3 is the first beyond that. Put long lists"),
        (sweeps, 150, "decoders: These are more than 10,000 decoders. Use fewer entries"),
        (priming, 300, "contexts: The prompts have more than 100,000,000 characters together. Shorten the priming"),
        (template, 50, "contexts: The prompts have more than 100,000,000 characters together."),
        (models_and_decoders, 150, "read"),
        (chunks, 100, "300,000 samples in chunks of 1 are more than 200,000 chunks. Write at least chunk_size: 2"),
    ],
)
def test_a_run_file_that_would_fill_the_memory(
    tmp_path: Path, attack: Callable[[], str], megabytes: int, message: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(attack())
    output = read_limited(path, megabytes=megabytes)
    assert message in output
    assert len(output) < 2_000


def test_a_message_quotes_only_the_beginning_of_a_long_value(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{HEAD}decoders: [[{'x, ' * 90_000}]]\nlimits: {{exact: 0x{'f' * 90}}}\ncontexts: [x]\n")
    output = read_limited(path, megabytes=150)
    assert "is neither a decoder's name nor a sweep" in output or "…" in output
    assert len(output) < 3_000


# --- files of contexts ---


def different_names() -> str:
    """Short lines, of which the first names a thousand columns that all others then have, too."""
    first = json.dumps({f"n{number}": "" for number in range(999)} | {"id": "0"})
    return "\n".join([first, *(f'{{"id":"{number}"}}' for number in range(1, 150_000))])


def one_line_of_lists() -> str:
    return '{"id": "1", "context": [' + "[]," * 20_000_000 + "1]}"


def one_line_of_commas() -> str:
    return "," * 60_000_000


def many_columns() -> str:
    return json.dumps({f"n{number}": "" for number in range(2_000)})


@pytest.mark.parametrize(
    ("name", "attack", "megabytes", "message"),
    [
        ("c.jsonl", different_names, 700, "c.jsonl has more than 5,000,000 cells (rows times columns). Split it"),
        ("c.jsonl", one_line_of_lists, 250, "Line 1 of c.jsonl has more than 4,000,000 characters."),
        ("c.csv", one_line_of_commas, 250, "Line 1 of c.csv has more than 4,000,000 characters."),
        ("c.jsonl", many_columns, 50, "c.jsonl has more than 1,000 columns."),
    ],
)
def test_a_file_of_contexts_that_would_fill_the_memory(
    tmp_path: Path, name: str, attack: Callable[[], str], megabytes: int, message: str
) -> None:
    (tmp_path / name).write_text(attack())
    path = tmp_path / "a.yaml"
    path.write_text(f"{HEAD}decoders: [greedy]\ncontexts: {name}\n")
    assert message in read_limited(path, megabytes=megabytes)


@pytest.mark.parametrize("text", ["{context}", "a {context} b {context}{x}", "{{{context}}}"])
def test_the_size_of_a_prompt_is_never_underestimated(text: str) -> None:
    fields = {"context": "some words", "x": "y"}
    for before in ("", "Priming.", "Priming.\n"):
        prompt, _ = make_prompt(text, fields, before)
        assert len(prompt) <= longest_prompt(text, fields, before) <= len(prompt) + len(text) + 2
