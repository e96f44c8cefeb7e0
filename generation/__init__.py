"""Samples and suggestions from language models. ``backends`` alone may import torch."""
