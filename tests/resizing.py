"""Nearest-neighbour resizing as the importers of ONNX write it."""


def resizing(
    height: int = 8, added: bool = False, other: float | None = None, looked_at: bool = False
) -> str:
    """An image of 5 channels, ``height / 2`` by 3, made 2 times as high and 3 times as wide.

    ``added``: to a second tensor of the resized shape. ``other``: a second extract by that factor.
    ``looked_at``: the row's number is added.
    """
    source, made = f"tensor<1x5x{(height + 1) // 2}x3xf32>", f"tensor<1x5x{height}x9xf32>"
    identity = "affine_map<(a, b, c, d) -> (a, b, c, d)>"
    lines = [_index("i", "2", height), _index("j", "3", 9, 3.0)]
    lines.append(f"%v0 = tensor.extract %x[%c0, %b, %i, %j] : {source}")
    last = "v0"
    if other is not None:
        lines.append(_index("k", "2", height, other))
        lines.append(f"%w = tensor.extract %x[%c0, %b, %k, %j] : {source}")
        lines.append("%v1 = arith.addf %v0, %w : f32")
        last = "v1"
    if looked_at:
        lines.append(f"%v2 = arith.addf %{last}, %i_2 : f32")
        last = "v2"
    if added:
        lines.append(f"%v3 = arith.addf %{last}, %in : f32")
        last = "v3"
    body = "\n        ".join(lines)
    return f"""func.func @f(%x: {source}{f", %y: {made}" if added else ""}) -> {made} {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {made}
      %r = linalg.generic {{indexing_maps = [{", ".join([identity] * (1 + added))}],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
          {f"ins(%y : {made}) " if added else ""}outs(%e : {made}) {{
      ^bb0({"%in: f32, " if added else ""}%o: f32):
        %b = linalg.index 1 : index
        {body}
        linalg.yield %{last} : f32
      }} -> {made}
      return %r : {made}
    }}"""


def _index(name: str, loop: str, size: int, factor: float = 2.0) -> str:
    """``min(max(floor(loop / factor), 0), last)`` by way of floats."""
    return "\n        ".join(
        [
            f"%{name}_0 = linalg.index {loop} : index",
            f"%{name}_1 = arith.index_cast %{name}_0 : index to i64",
            f"%{name}_2 = arith.sitofp %{name}_1 : i64 to f32",
            f"%{name}_factor = arith.constant {factor} : f32",
            f"%{name}_3 = arith.divf %{name}_2, %{name}_factor : f32",
            f"%{name}_4 = math.floor %{name}_3 : f32",
            f"%{name}_5 = arith.maximumf %{name}_4, %zero : f32",
            f"%{name}_last = arith.constant {size / factor - 0.5} : f32",
            f"%{name}_6 = arith.minimumf %{name}_5, %{name}_last : f32",
            f"%{name}_7 = arith.fptosi %{name}_6 : f32 to i64",
            f"%{name} = arith.index_cast %{name}_7 : i64 to index",
        ]
    )
