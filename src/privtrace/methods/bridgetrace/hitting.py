"""Solve for the hitting probabilities of zones: how likely a walk, wherever it is, still ends in a given zone.

The Markov chain of walks is on links: it goes from link e to link f with chance P[e, f], and a step onto e
survives with chance discount[e], which is smaller for longer steps (the chain is discounted, or killed). Its
hitting probability h of zone d then solves

    h[e] = discount[e] * ((end[e] if e leads into d, else 0) + the sum over f of P[e, f] h[f])

and a walk that goes on in proportion to P[e, f] h[f], the Doob h-transform of the chain, ends in d for certain.
Strong discounts make short walks likelier, weak ones let them wander.

The system is solved directly, by elimination in the order of a dissection. Of a set of cells it is known what
comes of a walk that enters it: by which outer link it leaves, and in which zone it ends before,

    h[in] = A h[out] + B          (in: the ways back of the outer links, B: a column for each zone of the set)

For a cell these are the equations themselves. Two sets are joined by solving for the links over the sides that
they share, h[inner] = X h[out] + X0, which leaves A and B of both together. The whole has no outer links; from
there all h follow, join by join, backward. Since moves sum to one and each is discounted, what is solved is an
M-matrix: elimination needs no pivots, and but for the diagonal it adds and multiplies what is not negative, so
that even the least probability is right to a dozen digits. Only + - * / are used, one after the other, so every
machine comes to the same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privtrace.backends.base import Backend
from privtrace.compiling import borrowing, compiled
from privtrace.methods.bridgetrace.dissection import JOIN
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.methods.bridgetrace.steps import Steps
from privtrace.trajectories import Floats, Integers

#: Zones worked out together going backward: what is read of the joins serves them all. No result depends on it.
_TOGETHER = 32


class DiscountedChain(NamedTuple):
    """Hold the Markov chain of steps and what it is discounted by, for kernels."""

    steps: Steps
    chances: Floats  # (n_entries,): in a row, all moves sum to one, and the end's comes on top
    discounts: Floats  # (n_links,)
    zone_of: Integers  # (n_cells,)


class CellSet(NamedTuple):
    """Hold what comes of walks that enter a set of cells, for kernels."""

    first: int  # its cells are a run in the order in which cells come in
    stop: int
    outer: Integers  # (n_outer,): the links that lead out of it
    zones: Integers  # (n_zones,), rising: those that it has cells of
    onward: Floats  # (n_outer, n_outer + n_zones): A | B, by the way in, which is the way back of an outer link


class Joined(NamedTuple):
    """Hold what came of joining two sets, for kernels."""

    inner: Integers  # (2 * n_shared,): the links from one to the other, and their ways back
    outer: Integers  # (n_outer,): of both together
    zones: Integers  # (n_zones,)
    onward: Floats  # (2 * n_shared, n_outer + n_zones): X | X0, by the inner link


def hitting_probabilities(space: StateSpace, chances: Floats, backend: Backend) -> Floats:
    """Solve for the hitting probabilities of zones, (n_zones, n_levels, n_links).

    `chances` (n_entries,) are those of the steps table: in a row, all moves sum to one, and the end's comes on
    top.
    """
    n_levels = len(space.discounts)
    found = np.empty((space.n_zones, n_levels, space.steps.n_links))

    def solve(level: int) -> None:
        chain = DiscountedChain(space.steps, chances, space.discounts[level], space.zone_of)
        _solve(found[:, level], chain, space.joins, _TOGETHER)

    for _ in backend.map(solve, range(n_levels)):
        pass
    return found


@compiled
def _solve(found, chain, joins, n_together):  # type: ignore[no-untyped-def]
    """Work out probabilities at one level of discount, (n_zones, n_links)."""
    joined = _forward(chain, joins)
    n_zones, n_links = found.shape
    for first in range(0, n_zones, n_together):
        n_some = min(n_together, n_zones - first)
        hitting = np.empty((n_links, n_some))
        for k in range(len(joined) - 1, -1, -1):
            _backward(hitting, joined[k], first)
        for link in range(n_links):
            for zone in range(n_some):
                found[first + zone, link] = hitting[link, zone]


@compiled
def _forward(chain, joins):  # type: ignore[no-untyped-def]
    """Join sets until all are one, and list what came of each join."""
    links, n_cells = chain.steps.links, 0
    rank, place_of = np.empty(chain.zone_of.size, np.int64), np.empty(links.sources.size, np.int64)
    for k in range(joins.size):
        if joins[k] != JOIN:
            rank[joins[k]] = n_cells
            n_cells += 1
    joined, sets = [], []
    for k in range(joins.size):
        if joins[k] != JOIN:
            sets.append(_cell(joins[k], rank[joins[k]], chain))
        else:
            b, a = sets.pop(), sets.pop()
            order_a, order_b, n_shared = _matched(a, b, links, rank, place_of)
            both, made = _joined(_ordered(a, order_a), _ordered(b, order_b), n_shared)
            sets.append(both)
            joined.append(made)
    return joined


@compiled
def _cell(cell, rank, chain):  # type: ignore[no-untyped-def]
    """Begin with a set of one cell."""
    links, offsets = chain.steps.links, chain.steps.offsets
    first = links.offsets[cell]
    n_outer = links.offsets[cell + 1] - first
    outer, zones, onward = np.empty(n_outer, np.int64), np.empty(1, np.int64), np.empty((n_outer, n_outer + 1))
    zones[0] = chain.zone_of[cell]
    for i in range(n_outer):
        outer[i] = first + i
        entering = links.back[first + i]
        for j in range(n_outer + 1):  # the last is the end
            onward[i, j] = chain.chances[offsets[entering] + j] * chain.discounts[entering]
    return CellSet(rank, rank + 1, outer, zones, onward)


@compiled
def _matched(a, b, links, rank, place_of):  # type: ignore[no-untyped-def]
    """Order the outer links of two sets: those between them first, a way and the way back at the same place."""
    order_a, order_b = np.empty(a.outer.size, np.int64), np.empty(b.outer.size, np.int64)
    n_shared, n_others = 0, 0
    for k in range(b.outer.size):
        place_of[b.outer[k]] = k
    for k in range(a.outer.size):
        link = a.outer[k]
        if b.first <= rank[links.targets[link]] < b.stop:
            order_a[n_shared], order_b[n_shared] = k, place_of[links.back[link]]
            n_shared += 1
    for k in range(a.outer.size):
        if not b.first <= rank[links.targets[a.outer[k]]] < b.stop:
            order_a[n_shared + n_others] = k
            n_others += 1
    n_others = 0
    for k in range(b.outer.size):
        if not a.first <= rank[links.targets[b.outer[k]]] < a.stop:
            order_b[n_shared + n_others] = k
            n_others += 1
    return order_a, order_b, n_shared


@compiled
def _ordered(some, order):  # type: ignore[no-untyped-def]
    """Put the outer links of a set in another order."""
    n_outer, n_columns = some.onward.shape
    outer, onward = np.empty(n_outer, np.int64), np.empty((n_outer, n_columns))
    for i in range(n_outer):
        outer[i] = some.outer[order[i]]
        for j in range(n_outer):
            onward[i, j] = some.onward[order[i], order[j]]
        for j in range(n_outer, n_columns):
            onward[i, j] = some.onward[order[i], j]
    return CellSet(some.first, some.stop, outer, some.zones, onward)


@compiled
def _joined(a, b, n_shared):  # type: ignore[no-untyped-def]
    """Join two sets, whose first outer links are those between them, and say what came of it.

    With x on the links from a to b, y on the ways back, S for shared sides and O for others,

        y = a.SS x + a.SO out_a + a.B        x = b.SS y + b.SO out_b + b.B
    """
    n_a, n_b = a.outer.size - n_shared, b.outer.size - n_shared
    outer, inner = np.empty(n_a + n_b, np.int64), np.empty(2 * n_shared, np.int64)
    # Where columns of a and b that are not shared come to stand: other links, and then zones.
    columns_a, columns_b = np.empty(n_a + a.zones.size, np.int64), np.empty(n_b + b.zones.size, np.int64)
    for k in range(n_shared):
        inner[k], inner[n_shared + k] = a.outer[k], b.outer[k]
    for k in range(n_a):
        outer[k], columns_a[k] = a.outer[n_shared + k], k
    for k in range(n_b):
        outer[n_a + k], columns_b[k] = b.outer[n_shared + k], n_a + k
    zones = _united(a.zones, b.zones, columns_a[n_a:], columns_b[n_b:], n_a + n_b)
    n_columns = n_a + n_b + zones.size
    between, solved = np.zeros((n_shared, n_shared)), np.zeros((2 * n_shared, n_columns))
    x, y = solved[:n_shared], solved[n_shared:]
    _copy(y, a.onward[:n_shared], n_shared, columns_a)
    _copy(x, b.onward[:n_shared], n_shared, columns_b)
    _add_product(x, b.onward[:n_shared], n_shared, y)
    _add_product(between, b.onward[:n_shared], n_shared, a.onward)
    _solve_for(x, between)
    _add_product(y, a.onward[:n_shared], n_shared, x)
    onward = np.zeros((n_a + n_b, n_columns))
    _copy(onward[:n_a], a.onward[n_shared:], n_shared, columns_a)
    _copy(onward[n_a:], b.onward[n_shared:], n_shared, columns_b)
    _add_product(onward[:n_a], a.onward[n_shared:], n_shared, x)
    _add_product(onward[n_a:], b.onward[n_shared:], n_shared, y)
    return CellSet(a.first, b.stop, outer, zones, onward), Joined(inner, outer, zones, solved)


@compiled
def _united(some, others, places, other_places, first):  # type: ignore[no-untyped-def]
    """Unite numbers that rise, and write down where each of both comes to stand, from place `first` on."""
    united, n, i, j = np.empty(some.size + others.size, np.int64), 0, 0, 0
    while i < some.size or j < others.size:
        from_some = j == others.size or (i < some.size and some[i] <= others[j])
        united[n] = some[i] if from_some else others[j]
        if j < others.size and others[j] == united[n]:
            other_places[j] = first + n
            j += 1
        if from_some:
            places[i] = first + n
            i += 1
        n += 1
    return united[:n]


@borrowing
def _copy(onto, rows, n_shared, columns):  # type: ignore[no-untyped-def]
    """Copy what is not shared to its columns."""
    for i in range(len(onto)):
        for j in range(columns.size):
            onto[i, columns[j]] = rows[i, n_shared + j]


@borrowing
def _add_product(total, left, n_inner, right):  # type: ignore[no-untyped-def]
    """Add to a total the matrix product of the first n_inner columns of `left` and as many rows of `right`."""
    n_rows, n_columns = total.shape
    for i in range(n_rows):
        k = 0
        while k + 4 <= n_inner:
            p, q, r, s = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
            for j in range(n_columns):
                total[i, j] += p * right[k, j] + q * right[k + 1, j] + r * right[k + 2, j] + s * right[k + 3, j]
            k += 4
        while k < n_inner:
            p = left[i, k]
            for j in range(n_columns):
                total[i, j] += p * right[k, j]
            k += 1


@borrowing
def _solve_for(x, between):  # type: ignore[no-untyped-def]
    """Solve (I - between) x = x in place, by elimination without pivots; `between` is used up."""
    n, n_columns = x.shape
    for k in range(n):
        over = 1.0 / (1.0 - between[k, k])
        for j in range(k + 1, n):
            between[k, j] *= over
        for j in range(n_columns):
            x[k, j] *= over
        for i in range(k + 1, n):
            factor = between[i, k]
            for j in range(k + 1, n):
                between[i, j] += factor * between[k, j]
            for j in range(n_columns):
                x[i, j] += factor * x[k, j]
    for k in range(n - 1, 0, -1):
        for i in range(k):
            factor = between[i, k]
            for j in range(n_columns):
                x[i, j] += factor * x[k, j]


@borrowing
def _backward(hitting, joined, first):  # type: ignore[no-untyped-def]
    """Work out the inner links of a join from the outer ones, for zones from `first` on."""
    n_zones, n_outer, outer, onward = hitting.shape[1], joined.outer.size, joined.outer, joined.onward
    for i in range(joined.inner.size):
        row = hitting[joined.inner[i]]
        for zone in range(n_zones):
            row[zone] = 0.0
        for k in range(joined.zones.size):
            if first <= joined.zones[k] < first + n_zones:
                row[joined.zones[k] - first] = onward[i, n_outer + k]
        k = 0
        while k + 4 <= n_outer:
            p, q, r, s = onward[i, k], onward[i, k + 1], onward[i, k + 2], onward[i, k + 3]
            a, b, c, d = hitting[outer[k]], hitting[outer[k + 1]], hitting[outer[k + 2]], hitting[outer[k + 3]]
            for zone in range(n_zones):
                row[zone] += p * a[zone] + q * b[zone] + r * c[zone] + s * d[zone]
            k += 4
        while k < n_outer:
            p, a = onward[i, k], hitting[outer[k]]
            for zone in range(n_zones):
                row[zone] += p * a[zone]
            k += 1
