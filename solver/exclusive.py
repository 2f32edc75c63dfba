"""Which readers of a tensor can never be used together? They share one flow of it.

Candidates that read and make the same tensors are one *form*. Two facts hold in every answer from
which all that is not needed has been dropped, and some cheapest answer is such an answer:

- of the forms that make one tensor T, at most one is used, by definition;
- a used form none of whose outputs is demanded has a used reader.

So, for a fixed T, let every maker of T lead to itself; let a form that is not demanded, and all of
whose readers lead to makers of T, lead to all of those. By induction, if a form is used, so is a
maker of T that it leads to. Two forms that lead to disjoint sets of makers are therefore exclusive.
A form that leads to all makers says nothing, nor do those that feed it: the walk stops there.

An example: T is made by a convolution of x, or by a contraction of y, where y is gathered from x
for it alone. The gather leads to the contraction, so it excludes the convolution: both read x, but
never both. Two gathers for one contraction lead to the same maker: both may be used at once, and
each stands in a group without the other, with all that excludes it.
"""

from collections.abc import Iterable

from layoutopt.solver.problem import Problem


def exclusive_readers(problem: Problem) -> dict[int, list[list[int]]]:
    """Return, for each tensor, groups of its readers that hold every reader at least once.

    At most one candidate of a group is used in any answer without unneeded candidates.
    """
    forms = _Forms(problem)
    leads: list[dict[int, frozenset[int]]] = [{} for _ in forms.members]
    for tensor, makers in forms.makers.items():
        if len(makers) > 1:
            for form, reached in forms.leading_to(tensor).items():
                leads[form][tensor] = reached

    def exclusive(a: int, b: int) -> bool:
        common = leads[a].keys() & leads[b].keys()
        return any(leads[a][tensor].isdisjoint(leads[b][tensor]) for tensor in common)

    groups: dict[int, list[list[int]]] = {}
    for tensor, readers in forms.readers.items():
        left = list(readers)
        while left:
            group: list[int] = []
            for form in dict.fromkeys((*left, *readers)):  # those without a group first
                if all(exclusive(form, other) for other in group):
                    group.append(form)
            left = [form for form in left if form not in group]
            members = sorted(i for form in group for i in forms.members[form])
            groups.setdefault(tensor, []).append(members)
    return groups


class _Forms:
    """Forms by number, and the forms that make and that read each tensor, ascending."""

    def __init__(self, problem: Problem) -> None:
        numbers: dict[tuple[frozenset[int], frozenset[int]], int] = {}
        self.members: list[list[int]] = []
        for i, c in enumerate(problem.candidates):
            key = frozenset(t for t, _ in c.inputs), frozenset(t for t, _ in c.outputs)
            if numbers.setdefault(key, len(numbers)) == len(self.members):
                self.members.append([])
            self.members[numbers[key]].append(i)
        self.reads = [sorted(reads) for reads, _ in numbers]
        self.makes = [sorted(makes) for _, makes in numbers]
        self.readers = _by_tensor(self.reads)
        self.makers = _by_tensor(self.makes)
        self.demanded = {demand.tensor for demand in problem.demanded}

    def leading_to(self, tensor: int) -> dict[int, frozenset[int]]:
        """Return the forms that lead to some makers of the tensor, but not to all: to which."""
        every = frozenset(self.makers[tensor])
        leads = {maker: frozenset((maker,)) for maker in self.makers[tensor]}
        stack = list(leads)
        while stack:
            read = self.reads[stack.pop()]
            for form in (maker for t in read for maker in self.makers.get(t, ())):
                readers = [r for t in self.makes[form] for r in self.readers.get(t, ())]
                if form in leads or not self.demanded.isdisjoint(self.makes[form]):
                    continue
                if not readers or any(reader not in leads for reader in readers):
                    continue  # if only not yet: the last of its readers comes back to it
                reached = frozenset[int]().union(*(leads[reader] for reader in readers))
                if reached != every:
                    leads[form] = reached
                    stack.append(form)
        return leads


def _by_tensor(tensors_of: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    table: dict[int, list[int]] = {}
    for form, tensors in enumerate(tensors_of):
        for tensor in tensors:
            table.setdefault(tensor, []).append(form)
    return table
