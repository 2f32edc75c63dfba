"""What is damaged, and which command lines read it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutated_inputs.mutation import BINARY, JSON, MLIR, TOML, Mutation
from tests.mutated_inputs.seeds import PROFILE, TEXTS


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file. A pattern of ``files`` may name files in a folder below."""

    name: str
    files: tuple[str, ...]
    mutations: tuple[Mutation, ...]
    commands: tuple[str, ...]
    """Each with the damaged file as ``{}``."""
    outputs: tuple[str, ...] = ()
    weight: int = 1
    """How often it comes up, against the others."""
    measured: bool = False
    """Whether it needs the seeds of a run on this machine."""


_OPTIMIZE = " ".join(
    (f"optimize {{}} --profile={PROFILE} --cache=made --no-verify -o out.mlir",
     "--report=r.json --plan-out=p.json")
)  # fmt: skip
_PLANNED = ("out.mlir", "r.json", "p.json")
_PACK = "pack-weights {} {} -o out.irpa --module-out=out.mlir"

KINDS = (
    Kind("mlir", tuple(f"{n}.mlir" for n in TEXTS), MLIR, (_OPTIMIZE,), _PLANNED, weight=12),
    Kind("mlirbc", tuple(f"{n}.mlirbc" for n in ("windows", "moves")), BINARY, (_OPTIMIZE,),
         _PLANNED, weight=6),
    Kind("onnx", ("model.onnx",), BINARY, (_OPTIMIZE,), _PLANNED, weight=2),
    Kind("target", ("target.toml", "gpu.toml"), TOML,
         ("targets --show {}",
          "optimize windows.mlir --profile={} --cache=made --no-verify -o out.mlir",
          "optimize matmul.mlir --objective=conversions --profile={} --cache=made --no-verify "
          "-o out.mlir"),
         weight=8),
    Kind("plan", ("windows.plan.json", "moves.plan.json"), JSON,
         ("explain {}", f"optimize {{stem}}.mlir --profile={PROFILE} --cache=made --plan={{}} "
          "-o out.mlir"), weight=6),
    Kind("report", ("windows.report.json", "moves.report.json"), JSON,
         ("explain {}", "explain {} t3", "explain {} --html=page.html"), weight=3),
    Kind("planned module", ("planned.mlirbc", "windows.planned.mlir"), MLIR,
         ("compile {} -o out.vmfb",), weight=3),
    Kind("store", ("prices.sqlite",), BINARY,
         ("profile show --cache=.", "profile export out.jsonl --cache=.",
          f"profile matmul.mlir --profile={PROFILE} --cache=.",
          "profile merge {} --cache=other", "profile diff {} undamaged.sqlite --tolerance=1e300",
          "profile prune --refusals --cache=."), weight=4),
    Kind("export", ("prices.jsonl",), JSON, ("profile import {} --cache=other",), weight=2),
    Kind("parameters", ("packable.irpa", "packable.safetensors"), BINARY,
         ("pack-weights packable.mlir {} -o out.irpa --module-out=out.mlir",), ("out.mlir",),
         weight=4),
    Kind("packable", ("packable.mlir",), MLIR,
         ("pack-weights {} packable.irpa -o out.irpa --module-out=out.mlir",), ("out.mlir",),
         weight=2),
    Kind("cache", ("cache/**/*.json", "cache/**/*.mlirbc", "cache/prices.sqlite"),
         (*JSON, *BINARY), ("optimize matmul.mlir --cache=cache -o out.mlir",), ("out.mlir",),
         weight=1, measured=True),
)  # fmt: skip
