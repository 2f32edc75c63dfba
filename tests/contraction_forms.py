"""What contractions are written as where tests want every form."""

from __future__ import annotations

from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.compiler.processor import Processor

EVERY_FORM = ContractionForms(data_tiling=True, registers=Processor.AVX2.registers)
