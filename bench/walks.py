"""How far a request travels through the code: ``python -m bench.walks``; and how large the code is: ``… structure``.

The walks are what workers and researchers do most: show a page, send a step, send the last step, publish a HIT, approve
its assignment, make a report. Each is done once to import and fill caches, then again under a profile function. Only
calls of this project's own functions count, without tests and benches. Where the marketplace answers in the same
process, its functions do not count: it stands at the other end of a wire.

modules: in how many files functions were called. changes: how many times a called function was in another file than
the one called before it. functions: how many different ones. calls: how many in total.

Like ``bench.same_outputs`` it uses only addresses and commands, so that it runs on trees whose modules have moved.
``structure`` counts files, lines of code (without blank lines, comments and docstrings), functions, names that say
nothing, and private functions that are called once.
"""

from __future__ import annotations

import argparse
import ast
import csv
import dis
import inspect
import io
import random
import shutil
import statistics
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

from bench.same_outputs import TREE, manage, model, start_django
from bench.visitors import (
    PORT,
    Visitor,
    accept_hit,
    answer_boto3_here,
    answered,
    do_hit,
    enter,
    join_marketplace,
)
from common.csv_files import CsvWriter
from tests.support import database_with_tables

APPS = ("common", "accounts", "analysis", "generation", "annotation", "hitserver", "marketplace")
#: Names of variables that say nothing about the value.
PLACEHOLDERS = (
    "found each said told made given there here at about wanted known ours theirs kept asked taken rather whole which "
    "own sent place"
)
#: Steps of a hit of absHDS: write a reply, rate one, judge the set.
STEPS = 3
WORKERS = 6
TITLE = 46


# --- walks ------------------------------------------------------------------------------------------------------


@dataclass
class Walk:
    """The project's functions that were called, in order."""

    codes: list[CodeType] = field(default_factory=list)

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """For ``sys.setprofile``."""
        if event == "call" and is_walked(frame.f_code) and not continues(frame):
            self.codes.append(frame.f_code)

    def line(self, title: str) -> str:
        files = [code.co_filename for code in self.codes]
        changes = sum(before != after for before, after in pairwise(files))
        numbers = (len(set(files)), changes, len(set(self.codes)), len(files))
        return f"{title:<{TITLE}}" + "".join(f"{number:>11,}" for number in numbers)


_WALKED: dict[CodeType, bool] = {}


def is_walked(code: CodeType) -> bool:
    if code not in _WALKED:
        inside = Path(code.co_filename).is_relative_to(TREE)
        top = Path(code.co_filename).relative_to(TREE).parts[0] if inside else ""
        _WALKED[code] = top in APPS and top != "marketplace" and code.co_name != "<module>"
    return _WALKED[code]


def continues(frame: FrameType) -> bool:
    """Whether this is a generator that goes on after a yield, which Python reports like a call."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    first = next(step.offset for step in dis.get_instructions(code) if step.opname == "RESUME")
    return frame.f_lasti > first


def walked(title: str, action: Callable[[], object], *, modules: bool = False) -> None:
    walk = Walk()
    sys.setprofile(walk.note)
    try:
        action()
    finally:
        sys.setprofile(None)
    print(walk.line(title), flush=True)
    if modules:
        counts = Counter(str(Path(code.co_filename).relative_to(TREE)) for code in walk.codes)
        print("".join(f"    {count:>7,}  {name}\n" for name, count in counts.most_common()))


def unmeasured(title: str, action: Callable[[], object], *, modules: bool = False) -> None:
    """The same without a profile: what comes first imports modules and fills caches."""
    action()


def run(*arguments: str) -> str:
    """Runs a command of ``manage.py`` that must succeed."""
    printed = manage(*arguments)
    if "CommandError: " in printed:
        raise SystemExit(f"manage.py {' '.join(arguments)}:\n{printed}")
    return printed


def walks(*, modules: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="hitserver-walks-") as folder:
        shutil.copy(database_with_tables(), folder)
        start_django(
            {
                "HITSERVER_VAR": folder,
                "HITSERVER_PORT": str(PORT),
                "HITSERVER_MTURK_CALLS_PER_SECOND": "0",
                "HITSERVER_MARKETPLACE_RATE_LIMIT": "0",
            }
        )
        print(f"{'':<{TITLE}}" + "".join(f"{head:>11}" for head in ("modules", "changes", "functions", "calls")))
        walk_work(Path(folder), modules=modules)
        walk_marketplace(Path(folder), modules=modules)


def make_study(folder: Path, slug: str, items: int) -> None:
    """A draft like the example of absHDS, with its first items."""
    text = (TREE / "examples" / "abs_hds.yaml").read_text("utf-8")
    with (TREE / "examples" / "sets.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    column = rows[0].index("sample_id")
    chosen = list(dict.fromkeys(row[column] for row in rows[1:]))[:items]
    with (folder / f"{slug}.csv").open("w", newline="", encoding="utf-8") as file:
        CsvWriter(file).writerows([rows[0], *(row for row in rows[1:] if row[column] in chosen)])
    lines = [line for line in text.splitlines() if not line.startswith(("slug:", "items:"))]
    study_file = folder / f"{slug}.yaml"
    study_file.write_text("\n".join([f"slug: {slug}", *lines, f"items: {slug}.csv", ""]), "utf-8")
    run("study", "apply", str(study_file))


def walk_work(folder: Path, *, modules: bool) -> None:
    """What the first worker does fills caches; the second worker's first hit is measured; more make data to report."""
    make_study(folder, "walks", 4)
    run("study", "publish", "walks")
    for number in range(WORKERS):
        rng, visitor = random.Random(number), Visitor()
        url = enter(visitor, "/s/walks/").url
        for step in range(1, 2 * STEPS + 1):
            measured = walked if number == 1 and step <= STEPS else unmeasured
            if step == 1:
                measured("GET a worker's page", partial(visitor.client.get, url), modules=modules)
            sent = answered(visitor.get(url), rng)
            if sent is None:
                raise SystemExit(f"{url} has no form.")
            before = model("Submission").count()
            title = f"POST step {step} of {STEPS}{', the last: a rating is stored' if step == STEPS else ''}"
            measured(title, partial(visitor.client.post, *sent), modules=modules)
            if (model("Submission").count() > before) != (step % STEPS == 0):
                raise SystemExit(f"Step {step} stored {model('Submission').count() - before} submissions.")
    for measured in (unmeasured, walked):
        with tempfile.TemporaryDirectory() as out:
            report = partial(run, "study", "report", "walks", "--out", out)
            measured("rows → StudyData → report", report, modules=modules)


def walk_marketplace(folder: Path, *, modules: bool) -> None:
    """Twice: a study of one HIT is published on the marketplace, a worker does it there, and it is approved."""
    from django.conf import settings

    run("marketplace", "make-requester", "Lab", "--balance", "1000")
    key = dict(line.partition("=")[::2] for line in run("marketplace", "make-key", "Lab").splitlines())
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = (
        key["AWS_ACCESS_KEY_ID"],
        key["AWS_SECRET_ACCESS_KEY"],
    )
    answer_boto3_here()
    for slug, measured in (("warm", unmeasured), ("market", walked)):
        make_study(folder, slug, 1)
        publish = partial(run, "study", "publish", slug, "--platform", "mturk", "--yes")
        measured("publish a HIT", publish, modules=modules)
        worker = join_marketplace(run("marketplace", "invite").strip(), f"worker-{slug}")
        do_hit(accept_hit(worker), random.Random(slug))
        measured("sync: an assignment was submitted there", partial(run, "study", "sync", slug), modules=modules)
        measured("approve it", partial(run, "study", "approve", slug), modules=modules)
        run("study", "end", slug)


# --- structure --------------------------------------------------------------------------------------------------


@dataclass
class Size:
    """What is counted in some files."""

    files: dict[str, int] = field(default_factory=dict)
    code: int = 0
    functions: list[tuple[int, str]] = field(default_factory=list)
    called_once: int = 0
    bindings: int = 0
    placeholders: int = 0

    def add(self, path: Path) -> None:
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        name = str(path.relative_to(TREE))
        self.files[name] = source.count("\n")
        self.code += len(lines_of_code(source) - lines_of_docstrings(tree))
        uses: Counter[str] = Counter()
        private, vague = [], set(PLACEHOLDERS.split())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.append(((node.end_lineno or 0) - node.lineno + 1, f"{name}:{node.name}"))
                if node.name.startswith("_") and not node.name.startswith("__"):
                    private.append(node.name)
            elif isinstance(node, ast.Attribute):
                uses[node.attr] += 1
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                uses[node.id] += 1
            bound = node.arg if isinstance(node, ast.arg) else ""
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound = node.id
            self.bindings += bool(bound)
            self.placeholders += bound in vague
        self.called_once += sum(uses[name] == 1 for name in private)

    def cells(self) -> Iterable[str]:
        lengths = [length for length, _ in self.functions] or [0]
        lines = list(self.files.values()) or [0]
        yield f"{len(self.files):,}"
        yield f"{sum(lines):,}"
        yield f"{self.code:,}"
        yield f"{len(self.functions):,}"
        yield f"{self.placeholders / max(1, self.bindings):.2%}"
        yield f"{self.called_once / max(1, len(self.functions)):.1%}"
        yield f"{statistics.median(lengths):g} / {max(lengths)}"
        yield f"{statistics.median(lines):g} / {max(lines)}"


def lines_of_code(source: str) -> set[int]:
    """The numbers of the lines with a token that is not a comment."""
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        line
        for token in tokens
        if token.type not in empty
        for line in range(token.start[0], token.end[0] + 1)
    }  # fmt: skip


def lines_of_docstrings(tree: ast.Module) -> set[int]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    numbers: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, owners) and node.body and ast.get_docstring(node, clean=False) is not None:
            numbers.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return numbers


def sources(app: str) -> list[Path]:
    folders = {"migrations", "tests"}
    return [path for path in sorted((TREE / app).rglob("*.py")) if not folders & set(path.relative_to(TREE).parts)]


def structure() -> None:
    heads = ("files", "lines", "code", "functions", "say nothing", "once", "function", "file")
    print(f"{'':<14}" + "".join(f"{head:>13}" for head in heads))
    total = Size()
    for app in APPS:
        size = Size()
        for path in sources(app):
            size.add(path)
            total.add(path)
        print(f"{app:<14}" + "".join(f"{cell:>13}" for cell in size.cells()))
    print(f"{'all':<14}" + "".join(f"{cell:>13}" for cell in total.cells()))
    print("\nsay nothing: bindings whose name is a placeholder. once: private functions that are called once.")
    print("function, file: median / longest, in lines.")
    print("Longest functions: " + ", ".join(f"{name} {length}" for length, name in sorted(total.functions)[:-4:-1]))
    longest = sorted(total.files.items(), key=lambda file: -file[1])[:3]
    print("Longest files: " + ", ".join(f"{name} {lines}" for name, lines in longest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("walks", "structure"), default="walks")
    parser.add_argument("--modules", action="store_true", help="also list the modules of each walk with their calls")
    options = parser.parse_args()
    if options.what == "structure":
        structure()
    else:
        walks(modules=options.modules)


if __name__ == "__main__":
    main()
