"""What users' checkers see: read by mypy and pyright, never run."""
