"""lit reads the IR tests by this; tests/lit/test_lit.py runs them as part of pytest."""

import os
import sys
from pathlib import Path

import lit.formats

repository = Path(__file__).resolve().parents[2]
scripts = Path(sys.executable).parent  # iree-opt and filecheck, of the environment that runs lit

config.name = "layoutopt"
config.suffixes = [".mlir"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(repository / "build" / "lit")
config.environment["PATH"] = os.pathsep.join([str(scripts), os.environ["PATH"]])
config.environment["PYTHONPATH"] = str(repository)
config.substitutions.append(("%layoutopt", f"{sys.executable} -m layoutopt"))
