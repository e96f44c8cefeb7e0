"""Run files: what they contain; all problems of a file are reported at once, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.problems import Invalid
from generation.decoding.decoders import Limits
from generation.runs.run_files import RunFile, read_run, read_run_file
from tests.services import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.run.yaml"))
SMALL = """\
name: small
models: [one, two]
decoders: [greedy, top_p=0.9]
contexts:
  - First text
  - {id: b, context: Second text}
"""


def read(tmp_path: Path, text: str) -> RunFile:
    path = tmp_path / "a.run.yaml"
    path.write_text(text)
    return read_run_file(path)


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read(tmp_path, text)
    return [str(problem) for problem in caught.value.problems]


def document(**changes: Any) -> dict[str, Any]:
    return {"name": "r", "models": ["m"], "decoders": ["greedy"], "contexts": ["x"]} | changes


def wrong(**changes: Any) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read_run(document(**changes), folder=Path())
    return [str(problem) for problem in caught.value.problems]


# --- what a file contains ---


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    run = read(tmp_path, SMALL)
    assert (run.name, run.models, run.samples, run.seed, run.chunk_size) == ("small", ("one", "two"), 1, 1, 64)
    assert [decoder.name for decoder in run.decoders] == ["greedy", "top_p=0.9"]
    assert [(context.external_id, context.prompt, context.keep) for context in run.contexts] == [
        ("1", "First text", 0),
        ("b", "Second text", 0),
    ]
    assert (run.limits, run.over_long, run.template_name, run.source) == (Limits(), "cut", "", "the run file")


def test_greedy_and_beam_give_one_text_and_decoders_that_draw_as_many_as_wanted() -> None:
    run = read_run(document(decoders=["greedy", "beam=4", "ancestral"], samples=10), folder=Path())
    assert [run.n_of(decoder) for decoder in run.decoders] == [1, 1, 10]
    assert run.n_wanted == 12


def test_a_built_in_template_brings_its_limits_priming_text_and_words() -> None:
    text = " ".join(f"w{n}" for n in range(30))
    run = read_run(document(template="continuation", contexts=[text]), folder=Path())
    assert run.limits == Limits(exact=30)
    assert run.contexts[0].prompt == " ".join(f"w{n}" for n in range(20))
    assert run.contexts[0].fields["context"] == run.contexts[0].prompt
    reply = read_run(document(template="reply", contexts=["Hello?"]), folder=Path())
    assert reply.contexts[0].prompt.endswith("\n\nComment: Hello?\nReply:")
    assert reply.contexts[0].prompt[reply.contexts[0].keep :] == "Comment: Hello?\nReply:"
    unprimed_run = read_run(document(template="reply", priming="", limits={"exact": 9}, first_words=1), folder=Path())
    assert (unprimed_run.contexts[0].keep, unprimed_run.limits, unprimed_run.first_words) == (0, Limits(exact=9), 1)


def test_the_spec_is_json_with_sweeps_expanded() -> None:
    sweep = {"temperature": {"from": 0.2, "to": 1.2, "steps": 3}}
    spec = read_run(document(decoders=[sweep, "greedy", "greedy"]), folder=Path()).spec()
    assert json.loads(json.dumps(spec)) == spec
    assert spec["decoders"] == ["temperature=0.2", "temperature=0.7", "temperature=1.2", "greedy"]
    assert spec["limits"] == {"max_new_tokens": 60, "min_new_tokens": 1, "exact": None, "stop": "", "min_words": 0}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_sound(path: Path) -> None:
    run = read_run_file(path)
    assert run.contexts
    assert run.models == ("smollm2-135m",)


def test_the_examples_have_the_published_sweeps() -> None:
    """Tevet & Berant 2021, section 6.1; Zhang et al. 2020, section 4.1."""
    runs = {path.name.removesuffix(".run.yaml"): read_run_file(path) for path in EXAMPLES}
    temperature = [decoder.temperature for decoder in runs["sweep_temperature"].decoders]
    assert (len(temperature), temperature[0], temperature[-1]) == (100, 0.2, 1.2)
    top_p = [decoder.top_p for decoder in runs["sweep_top_p"].decoders]
    assert (len(top_p), top_p[0], top_p[-1]) == (100, 0.1, 1.0)
    top_k = [decoder.top_k or 0 for decoder in runs["sweep_top_k"].decoders]
    assert (top_k[0], top_k[-1], top_k) == (1, 30_000, sorted(set(top_k)))
    kinds = [decoder.parameter[0] for decoder in runs["quality"].decoders if decoder.parameter]
    assert {kind: kinds.count(kind) for kind in kinds} == {"temperature": 4, "top_k": 5, "top_p": 5}
    assert "ancestral" in [decoder.name for decoder in runs["quality"].decoders]  # temperature 1: pure sampling
    assert (runs["quality"].samples, runs["quality"].limits.exact) == (10, 30)
    dectest = runs["dectest"]
    assert (dectest.assign, dectest.samples) == ("one_per_context", 10)
    assert dectest.decoders == runs["sweep_temperature"].decoders
    assert all(len(context.fields["context"].split()) == 20 for context in runs["quality"].contexts)
    assert runs["detection"].contexts[0].keep > 100


# --- contexts from files ---

HEAD = "name: r\nmodels: [m]\ndecoders: [greedy]\ncontexts: "


def test_contexts_from_a_csv_file_with_columns_of_other_names(tmp_path: Path) -> None:
    (tmp_path / "news.csv").write_text('nr,body,domain\n7,"Two\nlines",news\n8,Other,news\n9,Third,news\n')
    run = read(
        tmp_path,
        HEAD + "{file: news.csv, id: nr, fields: {context: body}, most: 2}\n",
    )
    assert [(context.external_id, context.prompt, context.fields["domain"]) for context in run.contexts] == [
        ("7", "Two\nlines", "news"),
        ("8", "Other", "news"),
    ]
    assert run.source == "news.csv"


def test_contexts_from_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "context": "x\\u2028y"}\n\n{"id": "2", "context": "z"}\n')
    run = read(tmp_path, "name: r\nmodels: [m]\ndecoders: [greedy]\ncontexts: a.jsonl\n")
    assert [(context.external_id, context.prompt) for context in run.contexts] == [("1", "x\u2028y"), ("2", "z")]


@pytest.mark.parametrize(
    ("name", "content", "messages"),
    [
        ("a.csv", b"id,context\na,1\na,2\n", ["a.csv, line 3: The id “a” is already used: a.csv, line 2"]),
        ("a.csv", b"id,context\na,\nb,  \n,x\n", ["a.csv, line 4: The id is empty",
            "a.csv, line 2, context: The text is empty", "a.csv, line 3, context: The text is empty"]),
        ("a.csv", b"id,text\na,one\nb,two\n", ["{context}, which the context does not have; its fields: {text}"]),
        ("a.csv", b"nr,context\na,one\n", ["contexts.id, columns of a.csv: There is no “id”"]),
        ("a.csv", b"id,context\na,one,three\nb\n", ["line 2: The row has 3 cells", "line 3: The row has 1 cells"]),
        ("a.csv", b"id,context\na,caf\xe9\n", ["a.csv is not UTF-8"]),
        ("a.csv", b"id,context\na,a\x00b\n", ["line 2, context: The cell contains a NUL"]),
        ("a.csv", b"id,id\na,b\n", ["line 1: The header has a column without a name, or two"]),
        ("a.csv", b'id,context\na,"x" y\n', ["line 2: The row cannot be read"]),
        ("a.csv", b"id,context\n", ["a.csv has no rows"]),
        ("a.jsonl", b'{"id": "a"}\n{"id": 1\n["x"]\n', ["line 2: This is not JSON", "line 3: This is not"]),
        ("a.xlsx", b"PK", ["a.xlsx is not a kind of file that can be read"]),
    ],
)  # fmt: skip
def test_problems_of_a_file_of_contexts_come_all_at_once_with_their_lines(
    tmp_path: Path, name: str, content: bytes, messages: list[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    messages = problems(tmp_path, HEAD + name + "\n")
    assert len(messages) == len(messages), messages
    for expected in messages:
        assert any(expected in problem for problem in messages), messages


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "nowhere.csv cannot be read: No such file" in problems(tmp_path, HEAD + "nowhere.csv")[0]


# --- what is refused ---


def test_all_problems_of_a_run_file_are_reported_at_once_with_their_lines(tmp_path: Path) -> None:
    messages = problems(
        tmp_path,
        "name: a b\n"
        "models: []\n"
        "decoders: [greedy, top_p=2, topp=1]\n"
        "sample: 3\n"
        "samples: many\n"
        "limits:\n"
        "  max_new_token: 3\n"
        "template: storry\n"
        "over_long: drop\n"
        "seed: -1\n"
        "contexts:\n"
        "  - {id: a, context: ''}\n"
        "  - {id: a, context: y}\n"
        "  - 3\n",
    )
    expected = [
        "line 1, name: “a b” is not a valid name.",
        "line 2, models: This is a list of 0.",
        "line 3, decoders, entry 2: top_p is 2",
        "line 3, decoders, entry 3: 'topp=1' is not a decoder",
        "line 4, sample: There is no “sample”. Did you mean “samples”?",
        "line 5, samples: This is the text “many”. Write a whole number from 1",
        "line 7, limits.max_new_token: There is no “max_new_token”. Did you mean “max_new_tokens”?",
        "line 8, template: There is no “storry”. Did you mean “story”?",
        "line 9, over_long: This is the text “drop”. Write cut or refuse.",
        "line 10, seed: This is -1.",
        "line 12, contexts, entry 1, context: The text is empty.",
        "line 13, contexts, entry 2: The id “a” is already used: line 12, contexts, entry 1.",
        "line 14, contexts, entry 3: This is 3 without an id",
    ]
    for text in expected:
        assert any(problem.startswith(text) for problem in messages), (text, messages)
    assert len(messages) == len(expected), messages


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"template": "{context} {topic}"}, "uses {topic}, which the context does not have; its fields: {context}."),
        ({"template": "No field at all"}, "all prompts would be the same"),
        ({"template": "{context"}, "is unpaired"),
        ({"limits": {"exact": 0}}, "exact is 0"),
        ({"limits": {"exact": 30, "stop": "sentence"}}, "cannot also stop"),
        ({"limits": {"exact": True}}, "exact is True"),
        ({"decoders": "greedy"}, "decoders: This is the text “greedy”"),
        ({"decoders": [{"top_p": {"from": 0, "to": 1, "steps": 3}}]}, "decoders, entry 1: top_p is 0"),
        ({"samples": True}, "samples: This is true."),
        ({"samples": 100_000, "contexts": [str(n) for n in range(101)], "decoders": ["top_p=0.9"]}, "10,100,000 sa"),
        ({"decoders": [{"temperature": {"from": 1, "to": 10**400, "steps": 2}}]}, "both take a number"),
        ({"models": [1]}, "models: This is a list of 1."),
        ({"contexts": {"file": "x.csv", "colums": 1}}, "contexts.colums: There is no “colums”"),
        ({"contexts": {"file": "x.csv", "most": 0}}, "contexts.most: This is 0"),
        ({"contexts": []}, "There are no contexts"),
        ({"contexts": [{"context": "x"}]}, "without an id"),
        ({"contexts": [{"id": "x" * 201, "context": "y"}]}, "longer than 200"),
        ({"chunk_size": 0}, "chunk_size: This is 0"),
    ],
)  # fmt: skip
def test_one_problem_each(changes: dict[str, Any], message: str) -> None:
    messages = wrong(**changes)
    assert len(messages) == 1, messages
    assert message in messages[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "This is not valid YAML"),
        ("- a\n- b\n", "The file has no keys"),
        ("", "The file has no keys"),
        ("name: a\nname: b\n", "line 2, name: The key appears twice, in lines 1 and 2."),
        ("limits: {exact: 1, exact: 2}\n", "limits.exact: The key appears twice"),
    ],
)
def test_text_that_is_not_a_run_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in problems(tmp_path, text)[0]


def test_missing_keys_are_named(tmp_path: Path) -> None:
    messages = problems(tmp_path, "seed: 3\n")
    assert [problem.partition(":")[0] for problem in messages] == ["name", "models", "decoders", "contexts"]


def test_the_texts_of_one_search_stay_in_one_chunk() -> None:
    from generation.runs.planned_samples import plan_chunks
    from tests.generation.support.run_factories import make_file

    file = make_file(
        decoders=["greedy", "beam=6,n_best=3", "top_p=0.9"], contexts=["One", "Two"], samples=2, chunk_size=4
    )
    chunks = list(plan_chunks(file, "toy"))
    rows = [tuple(row[1:]) for chunk in chunks for row in chunk]
    assert rows.count(("beam=6,n_best=3", 0, 3)) == 2 and file.n_wanted == 12
    assert sum(row[-1] for row in rows) == 12
    assert max(sum(row[-1] for row in chunk) for chunk in chunks) <= 4
