"""Packs that a model came with: seen through, so that its layouts are choices."""
