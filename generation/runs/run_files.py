"""Run files: YAML, read strictly. ``lifecycle.create_run`` makes a run from a file.

```yaml
name: sweep-1
models: [smollm2-135m]
decoders: [greedy, top_p=0.9, {temperature: {from: 0.2, to: 1.2, steps: 6}}]
contexts: prompts.csv        # or {file, id, fields, most}, or a list of {id, context}
samples: 10                  # of each decoder; greedy gives one, a beam search its n_best
assign: crossed              # every context with every decoder; or one_per_context
template: story              # a built-in one, or text with {fields}
limits: {exact: 30}          # default: the template's
seed: 1
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from common.problems import Problem, refuse_if_any, unknown
from generation.amounts import read_budget
from generation.decoding.decoders import Decoder, DecoderError, Limits, expand_decoders
from generation.decoding.prompts import (
    BUILT_IN,
    BuiltIn,
    TemplateError,
    fields_of,
    longest_prompt,
    make_prompt,
    unknown_fields,
    uses_entities,
)
from generation.runs.assigning import ASSIGNMENTS, CROSSED, Assigned, assign_one
from generation.runs.contexts import Context, Source, id_problems, read_contexts
from generation.runs.yaml_documents import parse_yaml, shown

MAX_SAMPLES = 10_000_000
#: Limits on what multiplies, checked before it is built: sweeps, priming text and template per context, chunks.
MAX_DECODERS = 10_000
MAX_PROMPT_CHARS = 100_000_000
MAX_CHUNKS = 200_000
#: Characters of all contexts in which entities are looked for: about half a minute.
MAX_TAGGED = 1_000_000
MOST_SEED = 2**63 - 1
REQUIRED = ("name", "models", "decoders", "contexts")
OPTIONAL = (
    "samples",
    "assign",
    "template",
    "priming",
    "limits",
    "over_long",
    "first_words",
    "rerank",
    "budget",
    "chunk_size",
    "seed",
)
KEYS = (*REQUIRED, *OPTIONAL)
MOST_CANDIDATES = 100
OVER_LONG = ("cut", "refuse")
SOURCE_KEYS = ("file", "id", "fields", "most")
DEFAULT_CHUNK = 64
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True)
class Prompted:
    """A context with its prompt, of which the first ``keep`` characters are priming text."""

    external_id: str
    fields: Mapping[str, str]
    prompt: str
    keep: int


@dataclass(frozen=True)
class RunFile:
    """The content of a run file, checked and with sweeps expanded.

    ``over_long``: a prompt longer than the model accepts is cut from the left (``cut``) or stops the run (``refuse``).
    ``samples`` applies to decoders that draw; greedy gives one text, a beam search its n-best. ``assign``: each context
    gets every model and decoder (``crossed``), or one model and one decoder (``one_per_context``).
    """

    name: str
    models: tuple[str, ...]
    decoders: tuple[Decoder, ...]
    contexts: tuple[Prompted, ...]
    source: str
    samples: int = 1
    assign: str = CROSSED
    template: str = "{context}"
    template_name: str = ""
    priming: str = ""
    limits: Limits = field(default_factory=Limits)
    over_long: str = "cut"
    first_words: int | None = None
    rerank: Mapping[str, Any] | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    chunk_size: int = DEFAULT_CHUNK
    seed: int = 1

    def n_of(self, decoder: Decoder) -> int:
        """Samples of one context, model and decoder. If the decoder draws nothing, another would be the same: a beam
        search gives its n-best texts, greedy one."""
        return self.samples if decoder.samples else decoder.n_best

    @property
    def n_wanted(self) -> int:
        if self.assign == CROSSED:
            return len(self.contexts) * len(self.models) * sum(self.n_of(decoder) for decoder in self.decoders)
        return sum(self.n_of(decoder) for _, decoder in self.assigned)

    @cached_property
    def assigned(self) -> list[Assigned]:
        """The model and decoder of each context, if each has only one."""
        ids = [context.external_id for context in self.contexts]
        return assign_one(context_ids=ids, models=self.models, decoders=self.decoders, seed=self.seed)

    def decoders_for(self, number: int, model: str) -> Sequence[Decoder]:
        """The decoders that this model uses for the ``number``-th context."""
        if self.assign == CROSSED:
            return self.decoders
        chosen, decoder = self.assigned[number]
        return [decoder] if chosen == model else []

    def spec(self) -> dict[str, Any]:
        """Everything but the contexts as JSON, with sweeps expanded."""
        return {
            "models": list(self.models),
            "decoders": [decoder.name for decoder in self.decoders],
            "contexts": {"source": self.source, "count": len(self.contexts)},
            "samples": self.samples,
            "assign": self.assign,
            "template": self.template,
            "template_name": self.template_name,
            "priming": self.priming,
            "limits": self.limits.as_json(),
            "over_long": self.over_long,
            "first_words": self.first_words,
            "chunk_size": self.chunk_size,
            "seed": self.seed,
        } | ({"rerank": dict(self.rerank)} if self.rerank else {})


class _Reader:
    """Reads values from the document and collects the problems with them."""

    def __init__(self, document: Mapping[str, Any], lines: Mapping[str, int]) -> None:
        self.document, self.lines = document, lines
        self.problems: list[Problem] = []

    def where(self, name: str) -> str:
        """The name with its line, or with the line of the part it belongs to."""
        line = self.lines.get(name) or self.lines.get(name.partition(",")[0].partition(".")[0])
        return f"line {line}, {name}" if line else name

    def wrong(self, name: str, what: str, fix: str = "") -> None:
        self.problems.append(Problem(self.where(name), what, fix))

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        value = self.document.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(name, f"This is {shown(value)}.", f"Write a whole number from {least:,} to {most:,}.")
            return default
        return value

    def text(self, name: str, default: str) -> str:
        value = self.document.get(name, default)
        if not isinstance(value, str):
            self.wrong(name, f"This is {shown(value)}.", "Write text, in quotes if it looks like a number.")
            return default
        return value


def read_run_file(path: Path) -> RunFile:
    """The run that a file describes, its contexts read. Raises Invalid with every problem of the file."""
    document, lines = parse_yaml(path)
    return read_run(document, folder=path.parent, lines=lines)


def read_run(document: Mapping[str, Any], *, folder: Path, lines: Mapping[str, int] | None = None) -> RunFile:
    """The run that a mapping describes, for example from a form or a script. Raises Invalid."""
    reader = _Reader(document, lines or {})
    for name in document:
        if name not in KEYS:
            reader.problems.append(unknown(reader.where(str(name)), str(name), KEYS))
    for name in REQUIRED:
        if name not in document:
            reader.wrong(name, f"The key {name} is missing.", f"Add a line “{name}: …”.")
    built_in, template = _template(reader)
    contexts, source = _contexts(reader, folder)
    count = reader.document.get("first_words", built_in.first_words if built_in else None)
    if count is not None:
        count = reader.whole("first_words", 1, 1, 100_000) if "first_words" in document else count
        contexts = [context.with_first_words(count) for context in contexts]
    priming = reader.text("priming", built_in.priming if built_in else "")
    name = reader.text("name", "run")
    if not _NAME.fullmatch(name):
        fix = "Use 1 to 80 letters, digits, hyphens and underscores."
        reader.wrong("name", f"“{name[:90]}” is not a valid name.", fix)
    file = RunFile(
        name=name,
        models=_models(reader),
        decoders=_decoders(reader),
        contexts=tuple(_prompts(reader, template, priming, contexts)),
        source=source,
        samples=reader.whole("samples", 1, 1, 100_000),
        assign=_choice(reader, "assign", ASSIGNMENTS),
        template=template,
        template_name=built_in.name if built_in else "",
        priming=priming,
        limits=_limits(reader, built_in),
        over_long=_choice(reader, "over_long", OVER_LONG),
        first_words=count,
        rerank=_rerank(reader),
        budget=_budget(reader),
        chunk_size=reader.whole("chunk_size", DEFAULT_CHUNK, 1, 10_000),
        seed=reader.whole("seed", 1, 0, MOST_SEED),
    )
    _check_reranked(reader, file)
    refuse_if_any(reader.problems)
    if file.n_wanted > MAX_SAMPLES:
        reader.wrong("samples", f"The run would make {file.n_wanted:,} samples.", f"At most {MAX_SAMPLES:,}: split it.")
    elif file.n_wanted / file.chunk_size > MAX_CHUNKS:
        least = -(-file.n_wanted // MAX_CHUNKS)
        what = f"{file.n_wanted:,} samples in chunks of {file.chunk_size:,} are more than {MAX_CHUNKS:,} chunks."
        reader.wrong("chunk_size", what, f"Write at least chunk_size: {least:,}, or split the run.")
    refuse_if_any(reader.problems)
    return file


# --- its parts ---


def _models(reader: _Reader) -> tuple[str, ...]:
    names = reader.document.get("models", ["-"])
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        reader.wrong("models", f"This is {shown(names)}.", "Write a list with at least one model's name.")
        return ()
    return tuple(dict.fromkeys(names))


def _decoders(reader: _Reader) -> tuple[Decoder, ...]:
    entries = reader.document.get("decoders", ["greedy"])
    if not isinstance(entries, list) or not entries:
        reader.wrong("decoders", f"This is {shown(entries)}.", "Write a list such as [greedy, top_p=0.9].")
        return ()
    decoders: dict[Decoder, None] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            decoders |= dict.fromkeys(expand_decoders([entry]))
        except DecoderError as error:
            reader.wrong(f"decoders, entry {number}", str(error).removeprefix("decoders, entry 1: "))
        if len(decoders) > MAX_DECODERS:
            fix = "Use fewer entries, or sweeps with fewer steps."
            reader.wrong("decoders", f"These are more than {MAX_DECODERS:,} decoders.", fix)
            return ()
    return tuple(decoders)


def _limits(reader: _Reader, built_in: BuiltIn | None) -> Limits:
    limits = reader.document.get("limits")
    if limits is None:
        return Limits(**built_in.limits) if built_in else Limits()
    if not isinstance(limits, dict):
        reader.wrong("limits", f"This is {shown(limits)}.", "Write lines such as “max_new_tokens: 60” below limits.")
        return Limits()
    names = [limit.name for limit in fields(Limits)]
    strange = [str(name) for name in limits if name not in names]
    for name in strange:
        reader.problems.append(unknown(reader.where(f"limits.{name}"), name, names))
    if strange:
        return Limits()
    try:
        return Limits(**limits)
    except (DecoderError, TypeError) as error:
        reader.wrong("limits", str(error))
        return Limits()


def _template(reader: _Reader) -> tuple[BuiltIn | None, str]:
    template = reader.text("template", "{context}")
    if template in BUILT_IN:
        return BUILT_IN[template], BUILT_IN[template].template
    if re.fullmatch(r"[\w-]+", template):
        reader.problems.append(unknown(reader.where("template"), template, BUILT_IN))
        return None, "{context}"
    try:
        if not fields_of(template) and not uses_entities(template):
            what = "The template uses no field: all prompts would be the same."
            reader.wrong("template", what, "Write {context}, or another field, where the context belongs.")
    except TemplateError as error:
        reader.wrong("template", str(error))
        return None, "{context}"
    return None, template


def _rerank(reader: _Reader) -> Mapping[str, Any] | None:
    """How many candidates there are for each sample, and what scores them."""
    rerank = reader.document.get("rerank")
    if rerank is None:
        return None
    fix = "Write {candidates: 10, model: NAME}, or function: NAME in place of the model."
    if not isinstance(rerank, dict) or len(rerank) != 2 or "candidates" not in rerank:
        reader.wrong("rerank", f"This is {shown(rerank)}.", fix)
        return None
    (scorer,) = (name for name in rerank if name != "candidates")
    count = rerank["candidates"]
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_CANDIDATES:
        reader.wrong("rerank.candidates", f"This is {shown(count)}.", f"Write a number from 2 to {MOST_CANDIDATES}.")
    if scorer not in ("model", "function") or not isinstance(rerank[scorer], str):
        reader.wrong("rerank", f"“{scorer}” with {shown(rerank[scorer])} is no scorer.", fix)
    return rerank


def _budget(reader: _Reader) -> Mapping[str, Any]:
    try:
        return read_budget(reader.document.get("budget"))
    except ValueError as error:
        reader.wrong("budget", f"This is {shown(reader.document['budget'])}.", str(error))
        return {}


def _check_reranked(reader: _Reader, file: RunFile) -> None:
    not_drawing = [decoder.name for decoder in file.decoders if not decoder.samples]
    if file.rerank and not_drawing:
        what = f"With {', '.join(not_drawing)} nothing is drawn, so all candidates would be the same."
        reader.wrong("rerank", what, "Leave these decoders out; n_best has the texts of a beam search.")


def _choice(reader: _Reader, name: str, choices: Sequence[str]) -> str:
    value = reader.document.get(name, choices[0])
    if value not in choices:
        reader.wrong(name, f"This is {shown(value)}.", f"Write {' or '.join(choices)}.")
        return choices[0]
    return str(value)


# --- contexts ---


def _contexts(reader: _Reader, folder: Path) -> tuple[list[Context], str]:
    description = reader.document.get("contexts")
    if isinstance(description, list):
        return _inline_contexts(reader, description), "the run file"
    if isinstance(description, str):
        description = {"file": description}
    if not isinstance(description, dict) or not isinstance(description.get("file"), str):
        if "contexts" in reader.document:
            fix = "Write a list of {id: …, context: …}, the path of a CSV or JSONL file, or {file: …, id: …}."
            reader.wrong("contexts", f"This is {shown(description)}.", fix)
        return [], ""
    before = len(reader.problems)
    reader.problems += [
        unknown(reader.where(f"contexts.{name}"), str(name), SOURCE_KEYS)
        for name in description
        if name not in SOURCE_KEYS
    ]
    rename = description.get("fields") or {}
    if not isinstance(rename, dict) or not all(isinstance(name, str) for name in (*rename, *rename.values())):
        reader.wrong("contexts.fields", f"This is {shown(rename)}.", "Write lines “field: column” below it.")
    most = description.get("most")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        reader.wrong("contexts.most", f"This is {shown(most)}.", "Write a whole number from 1 up.")
    column = description.get("id", "id")
    if not isinstance(column, str):
        reader.wrong("contexts.id", f"This is {shown(column)}.", "Write the name of the column with the ids.")
    if len(reader.problems) > before:
        return [], ""
    source = Source(folder / description["file"], column, rename, most)
    contexts, problems = read_contexts(source)
    for problem in problems:
        of_the_key = problem.where.startswith("contexts")
        reader.problems.append(replace(problem, where=reader.where(problem.where)) if of_the_key else problem)
    return contexts, source.path.name


def _inline_contexts(reader: _Reader, entries: list[Any]) -> list[Context]:
    """Contexts written in the run file: texts, or mappings with an id and the fields."""
    contexts: list[Context] = []
    if not entries:
        reader.wrong("contexts", "There are no contexts.", "Write at least one.")
    for number, entry in enumerate(entries, start=1):
        name = f"contexts, entry {number}"
        entry = {"id": str(number), "context": entry} if isinstance(entry, str) else entry
        texts = isinstance(entry, dict) and all(isinstance(value, str | int) for value in entry.values())
        if not texts or isinstance(entry.get("id"), bool | None):
            fix = "Write a text, or {id: …, context: …} with all values as text, in quotes where needed."
            reader.wrong(name, f"This is {shown(entry)} without an id, or not all of it is text.", fix)
            continue
        cells = {str(key): str(value) for key, value in entry.items() if key != "id"}
        contexts.append(Context(str(entry["id"]).strip(), cells, reader.where(name)))
    reader.problems += id_problems(contexts)
    return contexts


def _prompts(reader: _Reader, template: str, priming: str, contexts: list[Context]) -> list[Prompted]:
    """Every context's prompt. Reports empty and missing fields row by row."""
    try:
        used = fields_of(template)
    except TemplateError:
        return []  # already reported
    prompted: list[Prompted] = []
    total = 0
    if uses_entities(template) and sum(len(text) for each in contexts for text in each.fields.values()) > MAX_TAGGED:
        fix = "Split the run, or give the entities as a column of your own and name it otherwise."
        reader.wrong("template", f"Entities are looked for in at most {MAX_TAGGED:,} characters.", fix)
        return []
    for context in contexts:
        missing = [name for name in used if name not in context.fields]
        empty = [name for name in used if name not in missing and not context.fields[name].strip()]
        if missing:
            what = unknown_fields(missing, context.fields)
            if contexts[0].fields.keys() == context.fields.keys() and context is not contexts[0]:
                continue  # all rows of a file lack the same columns: once is enough
            reader.problems.append(Problem(f"{context.where}, template", what, "Rename the field or the column."))
        for name in empty:
            fix = "Fill it in, or remove the context."
            reader.problems.append(Problem(f"{context.where}, {name}", "The text is empty.", fix))
        if not missing and not empty:
            total += longest_prompt(template, context.fields, priming)
            if total > MAX_PROMPT_CHARS:
                what = f"The prompts have more than {MAX_PROMPT_CHARS:,} characters together."
                reader.wrong("contexts", what, "Shorten the priming text or the template, or split the run.")
                return []
            try:
                prompt, keep = make_prompt(template, context.fields, priming)
            except TemplateError as error:
                reader.wrong("template", str(error))
                return []
            prompted.append(Prompted(context.external_id, dict(context.fields), prompt, keep))
    return prompted
