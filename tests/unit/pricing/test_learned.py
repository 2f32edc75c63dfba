"""What counts as running in one way, so that one price tells of another."""

from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.types import TensorType
from layoutopt.pricing.learned import how_it_runs


def attention(tokens: int) -> tuple[Attention, tuple[TensorType, ...]]:
    maps = ((0, 2), (3, 2), (3, 1), (0, 1))
    op = Attention((0, 1, 2), (3,), maps, "1.0 : f16")
    return op, (TensorType((tokens, 64), "f16"),) * 4


def test_an_attention_in_whole_tiles_runs_in_another_way() -> None:
    ragged, padded, other = (how_it_runs(*attention(n)) for n in (1500, 1504, 1536))
    assert padded == other
    assert ragged != padded
