"""The plots of a report at the width of a paper's column, as PDF and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.paper.latex import escape, label
from analysis.plots.image_files import column_svg, pdf
from analysis.report.blocks import Figure, Figures, Section


def figures_of(sections: Sequence[Section]) -> Iterator[tuple[str, Figure]]:
    """Every plot by its name, which is unique in the report."""
    for section in sections:
        for block in section.parts:
            if isinstance(block, Figure):
                yield label(block.key), block
            elif isinstance(block, Figures):
                yield from ((label(figure.key), figure) for figure in block.figures)


def figure_files(name: str, figure: Figure) -> dict[str, bytes]:
    """Both files of a plot."""
    return {f"{name}.pdf": pdf(figure.svg, title=figure.caption), f"{name}.svg": column_svg(figure.svg).encode()}


def as_latex(name: str, figure: Figure) -> str:
    """The plot with its caption, to copy from."""
    return (
        "\\begin{figure}[tp]\n\\centering\n"
        f"\\includegraphics[width=\\linewidth]{{figures/{name}.pdf}}\n"
        f"\\caption{{{escape(figure.caption)}}}\n\\label{{fig:{name}}}\n\\end{{figure}}\n"
    )
