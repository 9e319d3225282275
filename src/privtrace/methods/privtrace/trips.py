"""Estimate trips from noisy starts and ends alone: pure post-processing, nothing private comes in.

The unknown is f_ij ≥ 0, the weight of paths from state i to state j, each path weighing one over its number
of transitions l_ij; so t_ij = l_ij f_ij is the number of trips. With b the noisy starts, q the noisy ends,
r = F1 and c = F'1 the marginals of f,

    minimize  J(f) = ‖r - b‖² + ‖c - q‖²   over f ≥ 0   subject to  Σ l f = n.                             (1)

J is strictly convex in (r, c) only, so many tables f share the smallest J; of these we take the one of
maximum entropy -Σ f log f. It is unique: all minimizers have the same marginals r*, c*, they form a compact
convex set (Σ l f = n bounds it, l ≥ 2), and entropy is strictly concave.

**What that table looks like.** It is the only minimizer of (1) that is a limit of gravity models

    f_ij = exp(a_i + g_j - β l_ij),                                                                        (2)

and is itself one whenever n can be reached with the marginals closest to (b, q). (A table (2) has the maximum
entropy among all tables with its own r, c and Σ l f; limits inherit that.) Hence every sequence of gravity
models whose J converges to the minimum converges to the answer, and we need only drive J down inside (2).

**How.** Proximal steps, f ← argmin J(f) + η KL(f, previous f) over Σ l f = n, with η shrinking tenfold: by
the usual proximal bound J(f) - min J ≤ η KL(answer, first f), and near the answer the error shrinks by a
factor of order η at *each* step. A step keeps the form (2), and its changes (Δa, Δg, Δβ) minimize the smooth
convex function of 2m + 1 variables

    Φ = Σ f + η/4 (‖Δa‖² + ‖Δg‖²) - b·Δa - q·Δg + Δβ n                                                    (3)

because ∂Φ = 0 says r = b - η/2 Δa, c = q - η/2 Δg and Σ l f = n, the conditions of optimality. Newton's
method solves it with one m x m Cholesky factorization an iteration.

**When it stops.** Every table is certified, not trusted: `_excess` proves how far J(f) can be above the
minimum, and the search ends when that is small enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from threadpoolctl import ThreadpoolController

from privtrace.methods.common.measure import in_trajectories
from privtrace.methods.privtrace.shortest import shortest_transitions
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers

if TYPE_CHECKING:
    from privtrace.methods.privtrace.settings import PrivTrace

# Excess of J over its minimum, relative to ‖b‖² + ‖q‖² (see `_size`): promised to callers, aimed at (it costs
# one proximal step more), and taken as proof that the nearest marginals are reached.
_PROMISED = 1e-7
_SOLVED = 1e-9
_REACHED = 1e-12

_SHRINK = 10.0  # of η at each proximal step, less after a step in which Newton's method did not converge
_LEAST_ETA = 1e-10  # relative to the first η; below, rounding of a, g and β spoils f
_MAX_PROXIMAL, _MAX_NEWTON, _MAX_HALVINGS = 40, 30, 40
_MAX_STALLED = 3  # proximal steps without a better certificate, once _PROMISED: only rounding is left
_NEWTON_DECREMENT = 1e-9  # squared, before the last step; that step squares it once more

_LEAST_COUNT = 1e-12  # of the marginals: below, the answer is proportional to n, as far as J can tell
_LEAST_MARGINAL = 0.01  # of a mean one: zeros are raised to it in the first table, because f must stay positive
_VANISHED = 0.1  # of n: a table with less has a low Φ, but leaves no curvature for β to be found by
_LARGEST_LOG = 20.0  # of f, where Σ f is about one: larger ones are absurd
_SMALLEST = 1e-130  # of f: squares of smaller ones would be subnormal, which slows products a hundredfold


def estimated_trips(grid: Grid, moves: Integers, n_trajectories: float, settings: PrivTrace) -> Integers:
    """Estimate how many trips go from each state to each, in weights; (0, 0) without trip estimation."""
    if not settings.trip_estimation:
        return np.zeros((0, 0), np.int64)
    starts = in_trajectories(moves[-1])
    ends = in_trajectories(moves[:-1].diagonal())
    trips = estimate_trips(starts, ends, shortest_transitions(grid.touching()), n_trajectories)
    return np.round(trips * WEIGHT).astype(np.int64)


def estimate_trips(starts: Floats, ends: Floats, lengths: Floats, n_trips: float) -> Floats:
    """Estimate how many trips go from each state to each other, given noisy starts and ends.

    Of all tables t ≥ 0 with Σ t = n that minimize

        Σ_i (Σ_j t_ij / l_ij - b_i)² + Σ_j (Σ_i t_ij / l_ij - q_j)²,

    return the one for which f = t / l has maximum entropy. It exists and is unique, because all minimizers
    share the marginals of f and entropy is strictly concave. It is a gravity model,
    f_ij = u_i v_j exp(-β l_ij), when n can be reached with the non-negative marginals closest to (b, q), and
    otherwise the true constrained optimum, a limit of gravity models. The search ends when the sum is proven
    to exceed the smallest one by less than 1e-7 (‖b‖² + ‖q‖²), or, when n forces a sum larger than
    ‖b‖² + ‖q‖² itself, by less than 1e-7 of that sum.

    Parameters
    ----------
    starts, ends
        Noisy weights b and q of paths that start and end in each state, (n_states,); may be negative.
    lengths
        Number of transitions l of a path from row to column, (n_states, n_states), at least 2; infinite
        where there is no path.
    n_trips
        The number n of trips, not negative.

    Returns
    -------
    Expected trips from row to column, (n_states, n_states); zero where there is no path.
    """
    b, q, l = (np.asarray(values, dtype=np.float64) for values in (starts, ends, lengths))  # noqa: E741
    _check(b, q, l, n_trips)
    if n_trips == 0:
        return np.zeros_like(l)
    n = max(float(n_trips), _LEAST_COUNT * float(max(np.abs(b).max(), np.abs(q).max())))
    problem = _pose(b, q, l, n)
    # On one thread: these matrices are too small to share (sharing was seen to take 20 times as long), and
    # the rounding, and so the model, should not depend on the number of cores.
    with _controller().limit(limits=1, user_api="blas"):
        trips = problem.lengths * _solve(problem)
    return np.asarray(trips * (n_trips / trips.sum()))


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries that would start threads, once."""
    return ThreadpoolController()


def _check(b: Floats, q: Floats, l: Floats, n: float) -> None:  # noqa: E741
    """Refuse arrays that are not a problem of this kind."""
    if b.ndim != 1 or q.shape != b.shape or l.shape != (len(b), len(b)):
        raise ValueError(f"shapes {b.shape}, {q.shape}, {l.shape} are not (m,), (m,), (m, m)")
    if not (np.isfinite(b).all() and np.isfinite(q).all() and 0 <= n < np.inf):
        raise ValueError("starts, ends and n_trips must be finite, and n_trips not negative")
    if not (l >= 2).all():
        raise ValueError("lengths must be at least 2: a path has a start and an end")
    if n > 0 and not np.isfinite(l).any():
        raise ValueError("no pair of states has a path, so no trip is possible")


@dataclass(frozen=True)
class _Problem:
    """Hold problem (1) in units in which Σ f is about one, so that tolerances mean the same everywhere."""

    b: Floats  # (m,)
    q: Floats  # (m,)
    lengths: Floats  # (m, m); zero where there is no path
    open: npt.NDArray[np.bool_]  # (m, m): there is a path
    barrier: Floats | None  # (m, m): zero, and -inf where there is no path; None if there is one everywhere
    n: float
    nearest: tuple[Floats, Floats]  # marginals closest to (b, q), if n were free
    floor: float  # their J, a lower bound
    scratch: Floats  # (2, m, m): for Newton's method; asking the system for it each time costs a third


@dataclass(frozen=True)
class _Table:
    """Hold a gravity model (2) and the sums of it that the methods need."""

    a: Floats  # (m,)
    g: Floats  # (m,)
    beta: float
    f: Floats  # (m, m)
    r: Floats  # (m,) row sums
    c: Floats  # (m,) column sums
    n: float  # Σ l f


def _pose(b: Floats, q: Floats, l: Floats, n: float) -> _Problem:  # noqa: E741
    """Find the nearest marginals and bring the problem to units of Σ f."""
    is_open = np.isfinite(l)
    everywhere = bool(is_open.all())
    r, c = _nearest_marginals(b, q) if everywhere else _nearest_by_component(b, q, is_open)
    some_lengths = l[is_open]
    unit = float(np.clip(r.sum(), n / some_lengths.max(), n / some_lengths.min()))
    b, q, r, c = b / unit, q / unit, r / unit, c / unit
    return _Problem(
        b=b,
        q=q,
        lengths=np.where(is_open, l, 0.0),
        open=is_open,
        barrier=None if everywhere else np.where(is_open, 0.0, -np.inf),
        n=n / unit,
        nearest=(r, c),
        floor=_distance(r - b, c - q),
        scratch=np.empty((2, len(b), len(b))),
    )


def _nearest_marginals(b: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Project (b, q) to non-negative marginals of equal sums: (5, -1), (1, -9) -> (3, 0), (3, 0).

    They are r = (b - λ)₊ and c = (q + λ)₊; Σ r - Σ c falls piecewise linearly in λ and turns at b and -q, so
    its zero lies between two neighboring turns.
    """
    turns = np.sort(np.concatenate([b, -q]))
    down, up = np.sort(b), np.sort(-q)
    above = len(b) - np.searchsorted(down, turns, side="right")
    below = np.searchsorted(up, turns, side="left")
    # Sums over the entries that are positive at each turn, from cumulative sums.
    r_sum = np.concatenate([[0.0], np.cumsum(down[::-1])])[above] - above * turns
    c_sum = below * turns - np.concatenate([[0.0], np.cumsum(up)])[below]
    surplus = r_sum - c_sum
    after = min(max(int(np.searchsorted(-surplus, 0.0)), 1), len(turns) - 1)
    left, right = surplus[after - 1], surplus[after]
    share = np.clip(left / (left - right), 0.0, 1.0) if left > right else 0.0
    shift = turns[after - 1] + share * (turns[after] - turns[after - 1])
    return np.maximum(b - shift, 0.0), np.maximum(q + shift, 0.0)


def _nearest_by_component(b: Floats, q: Floats, is_open: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Project (b, q) within each set of rows and columns that paths connect: there, sums must agree."""
    m = len(b)
    rows, columns = np.nonzero(is_open)
    pairs = coo_array((np.ones(len(rows), dtype=np.int8), (rows, m + columns)), shape=(2 * m, 2 * m))
    n_components, component = connected_components(pairs, directed=False)
    r, c = np.zeros(m), np.zeros(m)
    for label in range(n_components):
        inside_rows, inside_columns = component[:m] == label, component[m:] == label
        if inside_rows.any() and inside_columns.any():
            r[inside_rows], c[inside_columns] = _nearest_marginals(b[inside_rows], q[inside_columns])
    return r, c


def _solve(problem: _Problem) -> Floats:
    """Take proximal steps until the table is certified, and return the best f, Σ l f = n.

    If neither certificate is reached (rounding, or a cap on iterations), the best table so far is still
    feasible and still the optimum to within its own certificate; so no failure needs reporting.
    """
    table = _first_table(problem)
    b, q = problem.b, problem.q
    first_eta = max(1.0 / len(b), 0.1 * np.abs(b - table.r).max(), 0.1 * np.abs(q - table.c).max())
    eta, shrink = first_eta, _SHRINK
    best, least, stalled = table, _excess(problem, table), 0
    move = (np.zeros_like(b), np.zeros_like(q), 0.0)
    for _ in range(_MAX_PROXIMAL):
        if least <= _SOLVED * _size(problem, best) or stalled == _MAX_STALLED:
            break
        center, (table, converged) = table, _proximal_step(problem, table, move, eta)
        excess = _excess(problem, table)
        if excess < least:
            best, least, stalled = table, excess, 0
        elif least <= _PROMISED * _size(problem, best):
            stalled += 1
        if not converged:  # too far for one step: forget it, go half the way (on the scale of log η)
            table, shrink = center, np.sqrt(shrink)
            eta *= shrink
            continue
        # Per unit of 1/η: when n cannot be reached, a, g and β go on growing in proportion to it.
        move = (eta * (table.a - center.a), eta * (table.g - center.g), eta * (table.beta - center.beta))
        eta, shrink = max(eta / shrink, _LEAST_ETA * first_eta), min(shrink**2, _SHRINK)
    return best.f * (problem.n / best.n)


def _first_table(problem: _Problem) -> _Table:
    """Build independent trips with the nearest marginals, zeros raised a little: f must stay positive."""
    r, c = problem.nearest
    least = _LEAST_MARGINAL / len(r)
    a, g = np.log(np.maximum(r, least)), np.log(np.maximum(c, least))
    table = _tabulate(problem, a - a.max(), g - g.max(), 0.0)
    assert table is not None  # exponents are at most zero
    scale = 0.5 * np.log(problem.n / table.n)
    table = _tabulate(problem, table.a + scale, table.g + scale, 0.0)
    assert table is not None  # no f exceeds n
    return table


def _tabulate(problem: _Problem, a: Floats, g: Floats, beta: float) -> _Table | None:
    """Compute the gravity model (2), or None if an entry is absurdly large (Σ f is about one)."""
    f = problem.lengths * -beta
    f += a[:, None]
    f += g
    if problem.barrier is not None:
        f += problem.barrier
    if not f.max() < _LARGEST_LOG + np.log1p(problem.n):
        return None
    np.exp(f, out=f)
    f[f < _SMALLEST] = 0.0
    n = float(np.vdot(problem.lengths, f))
    return _Table(a, g, beta, f, f.sum(axis=1), f.sum(axis=0), n) if n > 0 else None


def _excess(problem: _Problem, table: _Table) -> float:
    """Bound J(f) - min J for the table scaled to Σ l f = n.

    J is convex with gradient G_ij = 2 (r_i - b_i) + 2 (c_j - q_j), so its minimum is at least J(f) - G·f plus
    the minimum of G·x over all feasible x; and that puts all of n on one pair: it is n min G / l.
    Zero when J is that of the nearest marginals, a lower bound: then f has them, and n could be reached.
    """
    scale = problem.n / table.n
    r, c = scale * table.r, scale * table.c
    over_r, over_c = r - problem.b, c - problem.q
    if _distance(over_r, over_c) - problem.floor <= _REACHED * _size(problem, table):
        return 0.0
    slope = np.add.outer(over_r, over_c)
    np.divide(slope, problem.lengths, out=slope, where=problem.open)
    cheapest = float(np.min(slope, where=problem.open, initial=np.inf))
    return 2.0 * (float(over_r @ r + over_c @ c) - problem.n * cheapest)


def _size(problem: _Problem, table: _Table) -> float:
    """Say what a difference of J is to be compared with.

    With ‖b‖² + ‖q‖²; with J where a large n makes it larger still, because rounding grows with J; but never
    with more than J can change by at all (first order in f, and Σ f is about one): that is less for small n.
    """
    b, q = problem.b, problem.q
    size = max(_distance(b, q), _distance(table.r - b, table.c - q))
    return min(size, 1.0 + float(np.abs(b).max() + np.abs(q).max()))


def _distance(over_r: Floats, over_c: Floats) -> float:
    """Add the squares of both: J."""
    return float(over_r @ over_r + over_c @ over_c)


def _predict(problem: _Problem, center: _Table, move: tuple[Floats, Floats, float], eta: float) -> _Table:
    """Guess the next proximal step: stay, reach the nearest marginals, or go on as before; lowest Φ wins.

    The second is right when n can be reached, the third when it cannot: then all multipliers grow like 1/η.
    """

    def guesses() -> Iterator[_Table | None]:
        r, c = problem.nearest
        yield center
        yield _tabulate(
            problem,
            center.a + 2.0 / eta * (problem.b - r),
            center.g + 2.0 / eta * (problem.q - c),
            center.beta,
        )
        yield _tabulate(
            problem, center.a + move[0] / eta, center.g + move[1] / eta, center.beta + move[2] / eta
        )

    sound = [guess for guess in guesses() if guess is not None and guess.n > _VANISHED * problem.n]
    return min(sound, key=lambda guess: _phi(problem, center, guess, eta), default=center)


def _phi(problem: _Problem, center: _Table, table: _Table, eta: float) -> float:
    """Compute Φ of (3)."""
    da, dg = table.a - center.a, table.g - center.g
    linear = float(problem.b @ da + problem.q @ dg) - (table.beta - center.beta) * problem.n
    return float(table.r.sum()) + eta / 4 * _distance(da, dg) - linear


def _gradient(problem: _Problem, center: _Table, table: _Table, eta: float) -> tuple[Floats, Floats, float]:
    """Compute ∂Φ by (a, g, β)."""
    by_a = table.r + eta / 2 * (table.a - center.a) - problem.b
    by_g = table.c + eta / 2 * (table.g - center.g) - problem.q
    return by_a, by_g, problem.n - table.n


def _proximal_step(
    problem: _Problem, center: _Table, move: tuple[Floats, Floats, float], eta: float
) -> tuple[_Table, bool]:
    """Minimize Φ by Newton's method as far as rounding lets it; say whether it got there within the cap."""
    table = _predict(problem, center, move, eta)
    for _ in range(_MAX_NEWTON):
        gradient = _gradient(problem, center, table, eta)
        try:
            direction = _newton_direction(problem, table, gradient, eta)
        except LinAlgError:  # the matrix is positive definite, but not after rounding
            return table, True
        decrement = -_inner(gradient, direction)
        if not decrement > 0:
            return table, True
        found = _search(problem, center, table, direction, decrement, eta)
        if found is None:
            return table, True
        table = found
        if decrement <= _NEWTON_DECREMENT:
            return table, True
    return table, False


def _newton_direction(
    problem: _Problem, table: _Table, gradient: tuple[Floats, Floats, float], eta: float
) -> tuple[Floats, Floats, float]:
    """Solve Hessian · direction = -gradient, with g and then β eliminated.

    The Hessian of Φ is [[R, F, -u], [F', C, -w], [-u', -w', s]]: R = r + η/2 and C = c + η/2 on diagonals, u
    and w the sums of l f by row and column, s the sum of l² f.
    """
    by_a, by_g, by_beta = gradient
    f, (product, schur) = table.f, problem.scratch
    weighted = np.multiply(f, problem.lengths, out=product)
    u, w, s = weighted.sum(axis=1), weighted.sum(axis=0), np.vdot(weighted, problem.lengths)
    inverse = 1.0 / (table.c + eta / 2)
    half = np.multiply(f, np.sqrt(inverse), out=product)
    np.matmul(half, half.T, out=schur)  # a symmetric product: numpy computes one half
    np.negative(schur, out=schur)
    schur[np.diag_indices_from(schur)] += table.r + eta / 2
    border = u - f @ (inverse * w)
    # Transposed, for LAPACK to work in place.
    factor = cho_factor(schur.T, lower=True, overwrite_a=True, check_finite=False)
    right_hand = np.stack([f @ (inverse * by_g) - by_a, border], axis=1)
    plain, per_beta = cho_solve(factor, right_hand, check_finite=False).T
    curvature = s - w @ (inverse * w) - border @ per_beta
    if not curvature > 0:  # positive but for rounding
        raise LinAlgError("no curvature along β is left")
    d_beta = float((border @ plain - w @ (inverse * by_g) - by_beta) / curvature)
    d_a = plain + d_beta * per_beta
    d_g = inverse * (d_beta * w - by_g - d_a @ f)
    return d_a, d_g, d_beta


def _inner(gradient: tuple[Floats, Floats, float], direction: tuple[Floats, Floats, float]) -> float:
    """Compute the derivative along a direction."""
    return float(gradient[0] @ direction[0] + gradient[1] @ direction[1] + gradient[2] * direction[2])


def _search(
    problem: _Problem,
    center: _Table,
    table: _Table,
    direction: tuple[Floats, Floats, float],
    decrement: float,
    eta: float,
) -> _Table | None:
    """Halve the Newton step until Φ does not rise steeply at its end; None if there is no such step.

    Let φ(t) be Φ along the step, so φ'(0) = -decrement and φ''(0) = decrement. φ'' is a sum of exponentials
    and a constant, hence convex, and of all convex φ'' with the same start and integral the straight one
    has the largest φ(t). So φ'(t) ≤ decrement / 2 alone proves φ(t) ≤ φ(0) - t decrement / 3, a sufficient
    decrease, and unlike a comparison of two values of Φ it does not drown in rounding.
    """
    t = 1.0
    for _ in range(_MAX_HALVINGS):
        d_a, d_g, d_beta = direction
        found = _tabulate(problem, table.a + t * d_a, table.g + t * d_g, table.beta + t * d_beta)
        if found is not None and found.n > _VANISHED * min(table.n, problem.n):
            slope = _inner(_gradient(problem, center, found, eta), direction)
            if slope <= decrement / 2:
                return found
        t /= 2
    return None
