r"""Text as LaTeX that pdfLaTeX reads with standard packages, and the preamble that asks for them.

Letters of T1 (Latin-1, Latin Extended-A) stay as they are. Greek letters and signs become math. All other letters
become ``\unicodechar{…}``: LuaLaTeX and XeLaTeX print the letter, pdfLaTeX its number.
"""

from __future__ import annotations

import re
import unicodedata

PREAMBLE = r"""% What the files of this folder need. Read it in the preamble of the paper: \input{preamble}
\ifdefined\Umathcode\else
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
\fi
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{natbib}
% A fact that the study does not know: fill it in.
\providecommand{\blank}[1]{\textbf{[\ldots{} #1]}}
% A letter in another script. pdfLaTeX prints its number; LuaLaTeX and XeLaTeX print the letter.
\providecommand{\unicodechar}[1]{\ifdefined\Umathcode\symbol{"#1}\else[U+#1]\fi}
"""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "\u00a0": "~",
    "\u202f": r"\,",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "„": r"\quotedblbase{}",
    "•": r"\textbullet{}",
    "€": r"\texteuro{}",
    "°": r"\textdegree{}",
    "µ": r"\textmu{}",
    "©": r"\textcopyright{}",
    "®": r"\textregistered{}",
    "™": r"\texttrademark{}",
    "§": r"\S{}",
    "¶": r"\P{}",
    "£": r"\pounds{}",
    "½": r"\textonehalf{}",
    "¼": r"\textonequarter{}",
    "¾": r"\textthreequarters{}",
    "·": r"\textperiodcentered{}",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
}
_MATH = {
    "−": "-",
    "×": r"\times",
    "±": r"\pm",
    "÷": r"\div",
    "≤": r"\le",
    "≥": r"\ge",
    "≠": r"\ne",
    "≈": r"\approx",
    "∞": r"\infty",
    "→": r"\rightarrow",
    "←": r"\leftarrow",
    "↔": r"\leftrightarrow",
    "√": r"\surd",
    "′": "'",
    "″": "''",
    "²": "^{2}",
    "³": "^{3}",
    "¹": "^{1}",
    "⁰": "^{0}",
    "₁": "_{1}",
    "₂": "_{2}",
    "∈": r"\in",
    "∑": r"\sum",
    "∼": r"\sim",
    "✓": r"\surd",
}
_GREEK = {
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "δ": r"\delta",
    "ε": r"\varepsilon",
    "ζ": r"\zeta",
    "η": r"\eta",
    "θ": r"\theta",
    "ι": r"\iota",
    "κ": r"\kappa",
    "λ": r"\lambda",
    "μ": r"\mu",
    "ν": r"\nu",
    "ξ": r"\xi",
    "π": r"\pi",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "τ": r"\tau",
    "υ": r"\upsilon",
    "φ": r"\varphi",
    "χ": r"\chi",
    "ψ": r"\psi",
    "ω": r"\omega",
    "Γ": r"\Gamma",
    "Δ": r"\Delta",
    "Θ": r"\Theta",
    "Λ": r"\Lambda",
    "Ξ": r"\Xi",
    "Π": r"\Pi",
    "Σ": r"\Sigma",
    "Φ": r"\Phi",
    "Ψ": r"\Psi",
    "Ω": r"\Omega",
}
_LETTERS = {**_SPECIAL, **{letter: f"${code}$" for letter, code in {**_MATH, **_GREEK}.items()}}
#: Marks in text that are not words: see `analysis.paper.prose`.
_LINES = re.compile(r"\s*\n\s*")


def escape(text: str) -> str:
    """The text as LaTeX. Line ends become spaces, characters that print nothing are left out."""
    flat = _LINES.sub(" ", unicodedata.normalize("NFC", text)).replace("\t", " ")
    escaped = "".join(map(_escaped, flat))
    # Two hyphens would become a dash.
    return re.sub(r"-(?=-)", "-{}", escaped) if "--" in flat else escaped


def _escaped(letter: str) -> str:
    if letter in _LETTERS:
        return _LETTERS[letter]
    code = ord(letter)
    if 0x20 <= code < 0x7F or 0xC0 <= code <= 0x17F or letter in "¡¿ªº¢¥«»":
        return letter
    if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return ""
    return f"\\unicodechar{{{code:04X}}}"


def label(*parts: str) -> str:
    """A name for labels and files: small ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", "-".join(parts).lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
