"""The example of a target with packings of one's own is a target."""

from dataclasses import replace
from pathlib import Path

from layoutopt.profiles.target import load_target

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_it_is_the_host_with_two_packings() -> None:
    target = load_target(str(EXAMPLES / "custom_packing.toml"))
    wide, channels = target.op_packings
    assert (wide.tile, wide.only) == ((("m", 4), ("n", 16), ("k", 1)), True)
    assert (channels.kind, channels.tile) == ("convolution", (("n", 16), ("k", 16)))
    host = load_target("host")
    assert replace(target, op_packings=(), rates=host.rates, fingerprint=host.fingerprint) == host
