"""Globals, functions, branches and what stands beside them."""

from __future__ import annotations

from tests.hostile.module import MATMUL, T, function

FUNCTIONS: dict[str, str] = {
    "mutable globals": """
  util.global private mutable @state = dense<0.0> : tensor<8x8xf32>
  util.global private mutable @count = 0 : i32
"""
    + function(
        f"""%s = util.global.load @state : {T}
    %p = linalg.map {{ arith.addf }} ins(%mm, %s : {T}, {T}) outs(%mme : {T})
    util.global.store %p, @state : {T}
    %c = util.global.load @count : i32
    util.global.store %c, @count : i32""",
        "",
        T,
        "%p",
    ),
    "ml_program globals": """
  ml_program.global private mutable @state(dense<0.0> : tensor<8x8xf32>) : tensor<8x8xf32>
  ml_program.global private @seed(dense<1> : tensor<i64>) : tensor<i64>
"""
    + function(
        f"""%s = ml_program.global_load @state : {T}
    %seed = ml_program.global_load_const @seed : tensor<i64>
    ml_program.global_store @state = %mm : {T}""",
        "",
        f"{T}, tensor<i64>",
        "%s, %seed",
    ),
    "a global load by pointer": """
  util.global private @w = dense<0.5> : tensor<8x8xf32>
"""
    + function(
        f"""%a = util.global.address @w : !util.ptr<{T}>
    %p = util.global.load.indirect %a : !util.ptr<{T}> -> {T}""",
        "",
        T,
        "%p",
    ),
    "a declaration beside": function(f"%p = func.call @outside(%mm) : ({T}) -> {T}", "", T, "%p")
    + f"func.func private @outside(%a: {T}) -> {T}",
    "a function that calls itself": function("")
    + f"""
  func.func @again(%x: {T}) -> {T} {{
    {MATMUL}
    %r = func.call @again(%mm) : ({T}) -> {T}
    return %r : {T}
  }}""",
    "functions without arguments or results": function("")
    + """
  func.func @nothing() { return }
  func.func @made() -> tensor<4xf32> {
    %c = arith.constant dense<1.0> : tensor<4xf32>
    return %c : tensor<4xf32>
  }
  func.func @eaten(%a: tensor<4xf32>) { return }""",
    "branches": function("")
    + f"""
  func.func @branching(%c: i1, %x: {T}) -> {T} {{
    cf.cond_br %c, ^one, ^two(%x : {T})
  ^one:
    {MATMUL}
    cf.br ^two(%mm : {T})
  ^two(%y: {T}):
    return %y : {T}
  }}
  func.func @endless(%x: {T}) -> {T} {{
    cf.br ^one
  ^one:
    cf.br ^one
  }}""",
    "util.unreachable": function("")
    + f"""
  util.func public @never(%x: {T}) -> {T} {{
    util.unreachable "never"
  }}""",
    "names that are odd": function("").replace("@main", '@"a b/c\\22 \\E2\\82\\AC"'),
    "nested modules": "module @outer { module @inner {" + function("") + "} " + function("") + "}",
    "other symbols": function("")
    + """
  util.initializer { util.return }
  flow.executable private @exe { }
  stream.executable private @sexe { }
  hal.executable private @hexe { }""",
    "attributes of the module": "module attributes {a.b = [1, 2], layoutopt.compile_flags = 3 : i32"
    "} {" + function("") + "}",
    "asynchronous functions with fences": f"""
  util.func public @main$async(%x0: !hal.buffer_view, %w: !hal.fence, %s: !hal.fence)
      -> !hal.buffer_view {{
    %x = hal.tensor.import wait(%w) => %x0 : !hal.buffer_view -> {T}
    {MATMUL}
    %0 = hal.tensor.barrier join(%mm : {T}) => %s : !hal.fence
    %1 = hal.tensor.export %0 : {T} -> !hal.buffer_view
    util.return %1 : !hal.buffer_view
  }}""",
    "flow ops": function(
        f"""%a = flow.tensor.transfer %mm : {T} to #hal.device.promise<@dev>
    %b = flow.tensor.reshape %a : {T} -> tensor<64xf32>
    %c = flow.tensor.clone %b : tensor<64xf32>
    flow.tensor.trace "t" = [%c : tensor<64xf32>]""",
        "",
        "tensor<64xf32>",
        "%c",
    ),
    "a dispatch region of the input's own": function(
        f"""%r = flow.dispatch.region -> ({T}) {{
      %p = linalg.map {{ math.exp }} ins(%mm : {T}) outs(%mme : {T})
      flow.return %p : {T}
    }}""",
        "",
        T,
        "%r",
    ),
    "checks and traces": function(
        """cf.assert %c, "no"
    check.expect_all_true(%b) : tensor<2xi1>
    util.assume.int %i<umin = 0, umax = 10> : index""",
        "%c: i1, %b: tensor<2xi1>, %i: index",
    ).replace("util.assume.int %i", "%ii = util.assume.int %i"),
    "shapes": function(
        f"""%s = shape.shape_of %mm : {T} -> tensor<2xindex>
    %n = shape.num_elements %s : tensor<2xindex> -> index""",
        "",
        "index",
        "%n",
    ),
}
