"""Hand-made problems that several tests share."""

from layoutopt.solver import Candidate, Conversion, Demand, Problem

CHAIN = Problem(  # tensor 0 -> op 0 -> tensor 1 -> op 1 -> tensor 2; layout 1 is fast for op 0
    tensors=3,
    given=frozenset({(0, 0)}),
    demanded=(Demand(2, (0,)),),
    candidates=(
        Candidate(0, 100, ((0, 0),), ((1, 0),)),
        Candidate(0, 40, ((0, 1),), ((1, 1),)),
        Candidate(1, 10, ((1, 0),), ((2, 0),)),
        Candidate(1, 10, ((1, 1),), ((2, 1),)),
    ),
    conversions=(
        Conversion(0, 0, 1, 5),
        Conversion(1, 1, 0, 30),
        Conversion(2, 1, 0, 20),
    ),
)  # optimum: convert 0, candidates 1 and 3, convert 2: 75 ns

CIRCLE = (
    Problem(  # tensors 1 and 2 come from each other for next to nothing, or dearly from tensor 0
        tensors=3,
        given=frozenset({(0, 0)}),
        demanded=(Demand(2, (0,)),),
        candidates=(
            Candidate(0, 1, ((1, 0),), ((2, 0),)),
            Candidate(1, 1, ((2, 0),), ((1, 0),)),
            Candidate(2, 500, ((0, 0),), ((1, 0),)),
            Candidate(3, 600, ((0, 0),), ((2, 0),)),
        ),
        conversions=(),
    )
)  # optimum: candidates 0 and 2: 501 ns; the circle of 0 and 1 would be 2 ns

TWICE = Problem(  # tensor 1 is needed in two layouts; making it twice would beat converting it
    tensors=4,
    given=frozenset({(0, 0), (0, 1)}),
    demanded=(Demand(2, (0,)), Demand(3, (0,))),
    candidates=(
        Candidate(0, 10, ((0, 0),), ((1, 0),)),
        Candidate(0, 12, ((0, 1),), ((1, 1),)),
        Candidate(1, 5, ((1, 0),), ((2, 0),)),
        Candidate(2, 5, ((1, 1),), ((3, 0),)),
    ),
    conversions=(Conversion(1, 0, 1, 15), Conversion(1, 1, 0, 15)),
)  # optimum: candidates 0, 2 and 3, conversion 0: 35 ns; all candidates would be 32 ns

BUDGET = Problem(  # two constants; either op is faster with a copied weight
    tensors=4,
    given=frozenset({(0, 0), (1, 0)}),
    demanded=(Demand(2, (0,)), Demand(3, (0,))),
    candidates=(
        Candidate(0, 100, ((0, 0),), ((2, 0),)),
        Candidate(0, 60, ((0, 1),), ((2, 0),)),
        Candidate(1, 100, ((1, 0),), ((3, 0),)),
        Candidate(1, 50, ((1, 1),), ((3, 0),)),
    ),
    conversions=(Conversion(0, 0, 1, 0, 300), Conversion(1, 0, 1, 0, 400)),
    weight_budget_bytes=600,
)  # optimum: copy tensor 1 only: 150 ns
