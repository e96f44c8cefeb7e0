"""The folder with a paper's part, made of a bundle and of nothing else. See `analysis.paper.write_paper`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.data import Page
from analysis.description import StudyDescription
from analysis.paper import figure_files, prose
from analysis.paper.dataset import CARD, CROISSANT, dataset_files
from analysis.paper.heds import datasheet
from analysis.paper.latex import PREAMBLE, escape
from analysis.paper.methods import TITLE, methods
from analysis.paper.prose import Numbers, Paragraph
from analysis.paper.references import bibliography
from analysis.paper.table_files import TableFile, table_files
from analysis.report.blocks import Section, Sentences
from common.csv_files import csv_text
from common.files import write_whole

README_TEXT = r"""# {title}: the paper’s part

Made from the data of the study `{slug}` alone. The same data give the same files, byte for byte, whoever makes them and
whenever, except pictures of pages (`pages/*.png`), which depend on the fonts of the machine.
{problems}
## Make every number again

With the bundle of the study (BUNDLE: a zip file or folder, from the console’s report page or `manage.py study export
{slug} --kind bundle`), in a checkout of HITServer:

```
pip install -r requirements-analysis.txt
python -m analysis report BUNDLE --out report --paper paper --draws {draws} --seed {seed}
```

`report/report.json` has every figure unrounded. `numbers.csv` has every number of the methods, with its place in
`report.json` (a JSON pointer) and its value. On the server: `manage.py study report {slug} --paper paper`.

## Files

| file | contents |
|---|---|
| `methods.tex`, `methods.md` | the methods; **[… …]** marks what the study does not know: fill it in |
| `findings.tex`, `findings.md` | what the study found, in sentences |
| `numbers.csv` | where every number of the methods comes from |
| `tables/*.tex`, `tables/*.csv` | every table of the report; the CSV files are unrounded. `tables.tex` reads them all |
| `figures/*.pdf`, `figures/*.svg` | every figure, 84 mm wide, fonts included. `figures.tex` has their captions |
| `pages/*.html` | the pages that workers saw; `*.png` where Chromium is installed |
| `references.bib` | what the methods cite |
| `preamble.tex`, `example.tex` | the LaTeX packages that are needed; one document with everything |
| `heds.md`, `heds.json` | the Human Evaluation Datasheet (HEDS 3.0), prefilled |
| `dataset-card.md`, `croissant.json` | for publishing the bundle as a data set |

{n_figures} figures, {n_tables} tables, {n_numbers} numbers in the methods.

## Before you send it in

- Fill in the blanks: search for `[…` in `methods.md` and `heds.md`, for `\blank` in `methods.tex`.
- Texts by workers and items may name people: read tables with texts before you print them.
- The pages leave out your contact address; the consent text may name you.

## Pages

{page_rows}
## Tables

| file | section | caption |
|---|---|---|
{table_rows}"""


def paper_files(
    study: StudyDescription,
    sections: Sequence[Section],
    report: Mapping[str, Any],
    *,
    files: Mapping[str, Mapping[str, Any]],
    pages: Mapping[str, Page],
) -> dict[str, bytes]:
    """All files by name, without pictures of pages. ``report``: the content of report.json; ``files``: those of the
    bundle."""
    numbers = Numbers(report)
    paragraphs = methods(study, numbers)
    findings = found(sections)
    tables = table_files(sections)
    figures = list(figure_files.figures_of(sections))
    sheet, sheet_json = datasheet(study, dict(report))
    of_dataset = dataset_files(study, files)
    written = {
        "README.md": readme(study, report, tables, pages, [name for name, _ in figures], numbers),
        "preamble.tex": PREAMBLE,
        "example.tex": example(study),
        "methods.md": prose.as_markdown(TITLE, paragraphs),
        "methods.tex": prose.as_latex(paragraphs),
        "findings.md": prose.as_markdown("What the study found", findings),
        "findings.tex": prose.as_latex(findings),
        "numbers.csv": numbers_csv(numbers),
        "references.bib": bibliography(prose.keys_in(paragraphs)),
        "figures.tex": with_breaks([figure_files.as_latex(name, figure) for name, figure in figures]),
        "tables.tex": with_breaks([f"\\input{{tables/{file.name}}}\n" for file in tables]),
        "heds.md": sheet,
        "heds.json": sheet_json,
        "croissant.json": of_dataset[CROISSANT].decode(),
        "dataset-card.md": of_dataset[CARD].decode(),
        **{f"tables/{file.name}.tex": file.latex for file in tables},
        **{f"tables/{file.name}.csv": file.csv for file in tables},
    }
    contents = {name: text.encode() for name, text in written.items()}
    for name, figure in figures:
        contents |= {f"figures/{file}": content for file, content in figure_files.figure_files(name, figure).items()}
    return contents | {name: page.content for name, page in pages.items()}


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files. README.md comes last: a folder with it is complete."""
    for name, content in sorted(contents.items(), key=lambda file: file[0] == "README.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def found(sections: Sequence[Section]) -> list[Paragraph]:
    """The sentences of findings, a paragraph for each criterion."""
    sentences: dict[str, list[str]] = {}
    for section in sections:
        for block in section.parts:
            if isinstance(block, Sentences):
                for criterion, sentence in block.rows:
                    sentences.setdefault(criterion, []).append(prose.words(sentence))
    return [Paragraph(prose.words(criterion), texts) for criterion, texts in sentences.items()] or [
        Paragraph("Findings", ["No question of the study has a mean, or nobody has answered yet."])
    ]


def with_breaks(floats: Sequence[str]) -> str:
    """Floats with a new page after every eight: LaTeX holds back at most 18."""
    pages = ["".join(floats[start : start + 8]) for start in range(0, len(floats), 8)]
    return "\\clearpage\n".join(pages)


def numbers_csv(numbers: Numbers) -> str:
    """Every number of the methods with its place in report.json."""
    rows = []
    for shown, pointer in numbers.used:
        way = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        value: Any = numbers.report
        for step in way:
            value = value[int(step)] if isinstance(value, list) else value[step]
        rows.append([shown, pointer, json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value])
    return csv_text([["in the methods", "place in report.json", "value"], *rows])


def example(study: StudyDescription) -> str:
    """A document with everything, to see what it looks like and to copy from."""
    return (
        "% Everything in this folder as one document, to look at and to copy from.\n"
        "\\documentclass[twocolumn]{article}\n\\input{preamble}\n"
        f"\\title{{{escape(prose.words(study.title))}}}\n\\author{{}}\n\\date{{}}\n"
        "\\begin{document}\n\\maketitle\n\\section{Methods}\n\\input{methods}\n\\section{Findings}\n\\input{findings}\n"
        "\\bibliographystyle{plainnat}\n\\bibliography{references}\n\\clearpage\n"
        "\\input{figures}\n\\clearpage\n\\input{tables}\n\\end{document}\n"
    )


def readme(
    study: StudyDescription,
    report: Mapping[str, Any],
    tables: Sequence[TableFile],
    pages: Mapping[str, Page],
    figures: Sequence[str],
    numbers: Numbers,
) -> str:
    """What is in the folder, and the commands that make it again."""
    failed = [
        f"- The section “{section['title']}” could not be made: {section['error']}.\n"
        for section in report["sections"].values()
        if "error" in section
    ]
    problems = f"\n## What is missing\n\n{''.join(failed)}" if failed else ""
    table_rows = "".join(
        f"| `{file.name}` | {_cell(file.section)} | {_cell(file.table.caption)} |\n" for file in tables
    )
    page_rows = "".join(f"- `{name}`: {prose.words(page.title)}\n" for name, page in pages.items())
    no_pages = "The bundle has no pages: it was made by an earlier release."
    if study.imported_from:
        no_pages = f"There are none: workers saw the pages of {prose.words(study.imported_from)}."
    return README_TEXT.format(
        title=prose.words(study.title),
        slug=study.slug,
        draws=report["draws"],
        seed=report["seed"],
        problems=problems,
        n_figures=len(figures),
        n_tables=len(tables),
        n_numbers=len(numbers.used),
        page_rows=page_rows or no_pages,
        table_rows=table_rows,
    )


def _cell(text: str) -> str:
    return prose.words(text).replace("|", "\\|")
