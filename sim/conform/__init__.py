"""The conformance corpus: programs that the real platform ran, run here."""
