"""What the real platform did, run here: its recordings as a measure of durasim."""

from .corpus import Conformance, ProgramResult, UnreadableCorpus, conform

__all__ = ["Conformance", "ProgramResult", "UnreadableCorpus", "conform"]
