"""What a decoder does to texts: entropy, likelihood, length, repetition and diversity of the samples of a run."""

from analysis.decoding.measures import MEASURES, DecoderFigures, Measure, decoder_figures, trend

__all__ = ["MEASURES", "DecoderFigures", "Measure", "decoder_figures", "trend"]
