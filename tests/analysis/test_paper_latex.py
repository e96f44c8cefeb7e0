"""The LaTeX of a paper's part, read by a parser; texts by people in it; CSV files beside it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexEnvironmentNode, LatexWalker

from analysis.estimate import Estimate
from analysis.paper.latex import PREAMBLE, escape
from analysis.paper.table_files import TableFile
from analysis.report.tables import Column, Table
from tests.analysis.support.papers import paper_of
from tests.analysis.support.studies import Values, a_set, study_data
from tests.analysis.test_paper_methods import rated

HOSTILE = '100% of $5 & #1_a {b} \\input{x} ^ ~ <i> | "q" `c` --- κ − ’ “y” 你好 😀 é ß ł'


def strict(latex: str) -> list[object]:
    """The nodes; raises an error for anything that does not close."""
    nodes, _, _ = LatexWalker(latex, tolerant_parsing=False).get_latex_nodes()
    return list(nodes)


@pytest.mark.parametrize(
    "text", ["50 % & more", "a_b^c", "{x} \\y", "x ~ y # z", "$5", "α = 0.74, κ ≤ 1", "− 3", "naïve Łódź"]
)
def test_a_text_comes_back_from_its_latex(text: str) -> None:
    assert strict(escape(text))
    assert LatexNodes2Text(math_mode="text").latex_to_text(escape(text)) == text.replace("−", "-").replace("^", "ˆ")


def test_the_ten_special_characters_of_latex() -> None:
    """Lamport 1994, LaTeX: A Document Preparation System, section 2.1."""
    assert escape("# $ % & _ { }") == r"\# \$ \% \& \_ \{ \}"
    assert escape("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


def test_other_scripts_are_numbers_for_pdflatex_and_letters_for_others() -> None:
    assert escape("你😀") == "\\unicodechar{4F60}\\unicodechar{1F600}"
    assert "\\newcommand" not in PREAMBLE and "\\providecommand{\\unicodechar}" in PREAMBLE


def test_pdflatex_gets_no_letter_that_it_does_not_know() -> None:
    escaped = escape("".join(map(chr, range(1, 0x2FFF))) + HOSTILE)
    beyond = {letter for letter in escaped if ord(letter) > 0x7E and not 0xC0 <= ord(letter) <= 0x17F}
    assert beyond <= set("¡¿ªº¢¥«»")
    assert strict(escaped)


def test_control_characters_and_line_ends() -> None:
    assert escape("a\n\n b\tc\x00\x1b\u200bd") == "a b cd"
    assert escape("a -- b --- c") == "a -{}- b -{}-{}- c"


def test_every_file_parses_and_every_row_has_as_many_cells_as_its_table(tmp_path: Path) -> None:
    values: Values = {(HOSTILE, worker): 1 + len(worker) % 5 for worker in ("ann", "benn", "cleop")}
    data = study_data([a_set(HOSTILE, context=HOSTILE)], values, title=HOSTILE, source=HOSTILE, summary=HOSTILE)
    for files in (paper_of(data, tmp_path / "hostile"), paper_of(rated(), tmp_path / "usual")):
        sources = {name: text for name, text in files.items() if name.endswith(".tex")}
        assert len(sources) > 15
        for name, text in sources.items():
            assert strict(text) or not text.strip(), name
        for name, text in sources.items():
            if name.startswith("tables/"):
                assert_sound_table(text)


def assert_sound_table(latex: str) -> None:
    tables = [node for node in strict(latex) if isinstance(node, LatexEnvironmentNode)]
    assert tables and all(node.environmentname in ("table", "table*") for node in tables)
    for body in re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", latex, re.DOTALL):
        layout, _, rows = body.partition("}\n\\toprule")
        columns = len(re.findall(r"[lr]|p", re.sub(r"p\{[^}]*\}", "p", layout)))
        lines = [line for line in rows.splitlines() if line.endswith("\\\\")]
        assert lines and {len(re.split(r"(?<!\\)&", line)) for line in lines} == {columns}


def a_table(rows: int = 2, note: str = "") -> Table:
    columns = [
        Column("Level", "name", shows="name"),
        Column("Mean", shows="mean"),
        Column("p", "p", shows="p"),
        Column("How", "how", shows=lambda record: record["mean"]),
    ]
    records = [
        {
            "name": f"=level {row}",
            "mean": Estimate(1 / 3 + row, 0.25, 0.5, 12, "items", method="bootstrap"),
            "p": 0.00001,
        }
        for row in range(rows)
    ]
    return Table("Means & more", columns, records, note)


def test_a_table_has_caption_n_units_and_ways_below(tmp_path: Path) -> None:
    latex = TableFile("x-01", a_table(note="A note."), "Section").latex
    assert "\\caption{Means \\& more}" in latex and "\\label{tab:x-01}" in latex
    assert "=level 0 & 0.33 [0.25, 0.50] & \\textless{} 0.0001 \\\\" in latex
    assert "A note. Bootstrap. n = 12 items." in latex
    assert "How" not in latex


def test_the_csv_is_unrounded_and_safe_for_spreadsheets() -> None:
    rows = list(csv.reader(io.StringIO(TableFile("x", a_table(), "S").csv)))
    assert rows[0][:7] == ["Level", "Mean", "Mean low", "Mean high", "Mean n", "Mean unit", "Mean method"]
    assert rows[1][:8] == ["'=level 0", repr(1 / 3), "0.25", "0.5", "12", "items", "bootstrap", "1e-05"]


def test_a_long_table_is_in_parts_and_says_what_is_only_in_the_csv() -> None:
    file = TableFile("x", a_table(rows=200), "S")
    assert file.latex.count("\\begin{table") == 4
    assert "(part 4 of 4)" in file.latex
    assert "The first 180 of 200 rows; the CSV file has all." in file.latex
    assert len(file.csv.splitlines()) == 201
