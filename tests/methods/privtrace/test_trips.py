"""Check trips against a general solver, the theory of gravity models, and small answers found by hand."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.linalg import null_space

from privtrace.methods.privtrace import trips as estimation
from privtrace.methods.privtrace.trips import estimate_trips

# --- Instances ---------------------------------------------------------------------------------------------


def city_lengths(m):
    """Lengths on a square grid of states, row by row."""
    side = int(np.ceil(np.sqrt(m)))
    xy = np.stack(np.divmod(np.arange(m), side), axis=1)
    return np.abs(xy[:, None] - xy).sum(axis=-1) + 2.0


def instance(kind, m, seed, noise=0.2):
    """Make starts, ends, lengths and a number of trips; the kind says what is awkward about them."""
    rng = np.random.default_rng([seed, m])
    lengths = city_lengths(m)
    if kind == "ragged lengths":
        lengths = rng.uniform(2, 20, (m, m))
    if kind == "equal lengths":
        lengths = np.full((m, m), 5.0)
    if kind == "two parts":
        part = np.arange(m) < m // 3
        lengths[part[:, None] != part] = np.inf
    if kind == "holes":
        lengths[rng.random((m, m)) < 0.6] = np.inf
        lengths[np.diag_indices(m)] = 2.0
    if kind == "diagonal only":
        lengths[~np.eye(m, dtype=bool)] = np.inf
    finite = np.where(np.isfinite(lengths), lengths, 0.0)
    f = rng.exponential(size=(m, m)) ** 2 * np.exp(-0.2 * finite) * (finite > 0)
    f *= 1e4 / f.sum()
    b = f.sum(axis=1) + noise * 1e4 / m * rng.laplace(size=m)
    q = f.sum(axis=0) + noise * 1e4 / m * rng.laplace(size=m)
    n = float((finite * f).sum())
    n *= {"n too small": 0.2, "n too large": 20.0, "n far too large": 1e4, "n small": 1e-3}.get(kind, 1.0)
    if kind == "unequal sums":
        b *= 3
    if kind == "one huge start":
        b[0] = 1e7
    if kind == "all negative":
        b, q = -np.abs(b), -np.abs(q)
    if kind == "no starts":
        b[:] = 0
    return b, q, lengths, n


KINDS = [
    "reachable",
    "unequal sums",
    "n small",
    "n too small",
    "n too large",
    "n far too large",
    "ragged lengths",
    "equal lengths",
    "two parts",
    "holes",
    "diagonal only",
    "one huge start",
    "all negative",
    "no starts",
]


def objective(b, q, f):
    return np.sum((f.sum(axis=1) - b) ** 2) + np.sum((f.sum(axis=0) - q) ** 2)


def check_feasible(trips, lengths, n):
    assert trips.shape == lengths.shape
    assert np.isfinite(trips).all()
    assert (trips >= 0).all()
    assert (trips[np.isinf(lengths)] == 0).all()
    assert trips.sum() == pytest.approx(n, rel=1e-12)


# --- The oracle: a quadratic program in all m² unknowns ----------------------------------------------------


def clarabel_objective(b, q, lengths, n):
    """Minimize over (f, r, c) with r, c tied to f; in units of the data, for the solver's tolerances."""
    m = len(b)
    rows, columns = np.nonzero(np.isfinite(lengths))
    pairs = np.arange(len(rows))
    unit = max(np.abs(b).max(), np.abs(q).max(), n / lengths[rows, columns].max())
    b, q, n = b / unit, q / unit, n / unit
    sums = sparse.csc_array(
        (np.ones(2 * len(pairs)), (np.r_[rows, m + columns], np.r_[pairs, pairs])), shape=(2 * m, len(pairs))
    )
    total = sparse.csc_array((lengths[rows, columns], (0 * pairs, pairs)), shape=(1, len(pairs) + 2 * m))
    constraints = sparse.vstack(
        [
            sparse.hstack([sums, -sparse.eye_array(2 * m)]),
            total,
            sparse.hstack([-sparse.eye_array(len(pairs)), sparse.csc_array((len(pairs), 2 * m))]),
        ]
    ).tocsc()
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.diags_array(np.r_[np.zeros(len(pairs)), np.full(2 * m, 2.0)]).tocsc(),
        np.r_[np.zeros(len(pairs)), -2 * b, -2 * q],
        constraints,
        np.r_[np.zeros(2 * m), n, np.zeros(len(pairs))],
        [clarabel.ZeroConeT(2 * m + 1), clarabel.NonnegativeConeT(len(pairs))],
        options,
    ).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved")
    return (solution.obj_val + b @ b + q @ q) * unit**2


@pytest.mark.parametrize(("m", "seed"), [(2, 1), (3, 2), (7, 3), (24, 4), (24, 5), (60, 6)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_the_smallest_one(kind, m, seed):
    b, q, lengths, n = instance(kind, m, seed)
    trips = estimate_trips(b, q, lengths, n)
    check_feasible(trips, lengths, n)
    expected = clarabel_objective(b, q, lengths, n)
    # When n forces J far beyond ‖b‖² + ‖q‖², both solvers can only be exact relative to J.
    size = max(b @ b + q @ q, expected)
    assert objective(b, q, trips / lengths) == pytest.approx(expected, abs=1e-6 * size)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_certificate_is_what_the_docstring_promises(kind, seed, monkeypatch):
    certificates = []
    excess = estimation._excess

    def record(problem, table):
        certificates.append(excess(problem, table) / estimation._size(problem, table))
        return excess(problem, table)

    monkeypatch.setattr(estimation, "_excess", record)
    estimate_trips(*instance(kind, 40, seed))
    assert min(certificates) <= 1e-7


# Found by trying many random instances: here a tenfold smaller η is too far for one step.
@pytest.mark.parametrize(("seed", "length"), [(3, 20), (15, 40), (117, 100), (267, 40)])
def test_n_out_of_reach_on_ragged_lengths(seed, length, monkeypatch):
    outcomes = []
    step = estimation._proximal_step

    def record(*arguments):
        outcomes.append(step(*arguments))
        return outcomes[-1]

    monkeypatch.setattr(estimation, "_proximal_step", record)
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(2, 20, (45, 45))
    b, q = rng.exponential(size=(2, 45))
    n = length * b.sum()
    trips = estimate_trips(b, q, lengths, n)
    assert not all(converged for _, converged in outcomes)  # else this tests nothing new
    expected = clarabel_objective(b, q, lengths, n)
    size = max(b @ b + q @ q, expected)
    assert objective(b, q, trips / lengths) == pytest.approx(expected, abs=1e-7 * size)


# --- The shape of the answer -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["reachable", "unequal sums", "two parts"])
@pytest.mark.parametrize(("m", "seed"), [(6, 1), (30, 2), (60, 3)])
def test_a_reachable_n_gives_the_nearest_marginals_and_a_gravity_model(kind, m, seed):
    b, q, lengths, n = instance(kind, m, seed, noise=0.1)
    is_open = np.isfinite(lengths)
    nearest_r, nearest_c = estimation._nearest_by_component(b, q, is_open)
    # A number of trips that the nearest marginals surely reach: that of independent starts and ends.
    part = np.arange(m) < (m // 3 if kind == "two parts" else m)
    independent = np.zeros((m, m))
    for inside in (part, ~part):
        pairs = np.ix_(inside, inside)
        total = max(nearest_r[inside].sum(), 1e-9)
        independent[pairs] = np.outer(nearest_r[inside], nearest_c[inside]) / total
    n = 0.95 * np.sum(np.where(is_open, lengths, 0) * independent)
    f = estimate_trips(b, q, lengths, n) / lengths

    size = np.sqrt(b @ b + q @ q)
    np.testing.assert_allclose(f.sum(axis=1), nearest_r, atol=2e-6 * size)
    np.testing.assert_allclose(f.sum(axis=0), nearest_c, atol=2e-6 * size)
    assert gravity_residual(f, lengths) < 1e-8


def gravity_residual(f, lengths):
    """Fit log f = a_i + g_j - β l_ij over the pairs with trips; return the largest error."""
    rows, columns = np.nonzero(f > 1e-60)
    design = np.zeros((len(rows), 2 * len(f) + 1))
    pairs = np.arange(len(rows))
    design[pairs, rows] = 1
    design[pairs, len(f) + columns] = 1
    design[:, -1] = -lengths[rows, columns]
    logs = np.log(f[rows, columns])
    solution, *_ = np.linalg.lstsq(design, logs)
    return np.abs(design @ solution - logs).max() / max(1.0, np.abs(logs).max())


def constraint_matrix(rows, columns, lengths, m):
    """Rows of sums, columns of sums, Σ l f: what all minimizers share."""
    pairs = np.arange(len(rows))
    matrix = np.zeros((2 * m + 1, len(rows)))
    matrix[rows, pairs] = 1
    matrix[m + columns, pairs] = 1
    matrix[-1] = lengths[rows, columns]
    return matrix


@pytest.mark.parametrize(
    "kind", ["reachable", "unequal sums", "n too large", "equal lengths", "two parts", "holes", "no starts"]
)
def test_any_other_minimizer_has_lower_entropy(kind):
    m = 12
    b, q, lengths, n = instance(kind, m, 7, noise=0.1)
    f = estimate_trips(b, q, lengths, n) / lengths
    rows, columns = np.nonzero(f > 1e-3 * f.max())
    free = null_space(constraint_matrix(rows, columns, lengths, m))
    values = f[rows, columns]
    rng = np.random.default_rng(0)
    assert free.shape[1] > 0  # else there is no other minimizer
    for _ in range(20):
        direction = free @ rng.normal(size=free.shape[1])
        direction *= 0.3 / np.abs(direction / values).max()  # stays positive
        assert np.log(values) @ direction == pytest.approx(0, abs=1e-6 * np.abs(direction).sum())
        assert entropy(values + direction) < entropy(values)
        assert entropy(values - direction) < entropy(values)


def entropy(values):
    return -np.sum(values * np.log(values))


# --- Answers found by hand ---------------------------------------------------------------------------------

SQUARE = np.array([[2.0, 3.0], [3.0, 2.0]])
ONES = np.ones(2)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        # By symmetry f = [[x, y], [y, x]]; x + y = 1 meets all marginals, and n = 4 x + 6 y chooses y.
        (5.0, [[1.0, 1.5], [1.5, 1.0]]),
        (4.4, [[1.6, 0.6], [0.6, 1.6]]),
        # Below 4 even y = 0 is too long; the diagonal then misses the marginals by least.
        (3.0, [[1.5, 0.0], [0.0, 1.5]]),
        # Above 6 even x = 0 is too short.
        (8.0, [[0.0, 4.0], [4.0, 0.0]]),
    ],
)
def test_two_states(n, expected):
    np.testing.assert_allclose(estimate_trips(ONES, ONES, SQUARE, n), expected, atol=2e-4)


def test_equal_lengths_fix_the_total_and_leave_independence():
    # Σ f = 10 / 5 = 2; least squares takes 1 from each start and each end: r = (2, 0), c = (1.5, 0.5).
    b, q = np.array([3.0, 1.0]), np.array([2.5, 1.5])
    trips = estimate_trips(b, q, np.full((2, 2), 5.0), 10.0)
    np.testing.assert_allclose(trips, [[7.5, 2.5], [0.0, 0.0]], atol=2e-3)


def test_two_parts_have_totals_of_their_own():
    # Only i -> i is possible: f_ii = (b_i + q_i) / 2, and n = 2 Σ f asks for exactly that.
    lengths = np.where(np.eye(3, dtype=bool), 2.0, np.inf)
    trips = estimate_trips(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 5.0]), lengths, 16.0)
    np.testing.assert_allclose(trips, np.diag([4.0, 4.0, 8.0]), rtol=1e-5)


# --- Edges -------------------------------------------------------------------------------------------------


def test_one_state_takes_all_trips():
    assert estimate_trips(np.array([-3.0]), np.array([1e7]), np.array([[2.0]]), 5.0) == pytest.approx(5.0)


def test_no_trips_give_zeros():
    np.testing.assert_array_equal(estimate_trips(ONES, ONES, SQUARE, 0), np.zeros((2, 2)))


def test_no_states_and_no_trips():
    assert estimate_trips(np.zeros(0), np.zeros(0), np.zeros((0, 0)), 0).shape == (0, 0)


@pytest.mark.parametrize("n", [1e-300, 1e-9, 1.0, 1e9, 1e300])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e7, 1e150])
@pytest.mark.parametrize("m", [2, 9])
def test_extreme_sizes(n, size, m):
    b, q, lengths, _ = instance("reachable", m, 3)
    check_feasible(estimate_trips(size * b, size * q, lengths, n), lengths, n)


@pytest.mark.parametrize("n", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("starts", [0.0, -5.0, 5.0])
@pytest.mark.parametrize("ends", [0.0, -5.0, 5.0])
def test_constant_marginals_are_shared_alike(n, starts, ends):
    trips = estimate_trips(np.full(4, starts), np.full(4, ends), np.full((4, 4), 3.0), n)
    np.testing.assert_allclose(trips, n / 16, rtol=1e-6)


def test_an_isolated_state_has_trips_to_itself_only():
    lengths = city_lengths(5)
    lengths[4, :4] = lengths[:4, 4] = np.inf
    trips = estimate_trips(np.full(5, 10.0), np.full(5, 10.0), lengths, 150.0)
    check_feasible(trips, lengths, 150.0)
    assert trips[4, 4] == pytest.approx(20.0, rel=1e-5)


def test_a_state_without_any_path_has_no_trips():
    lengths = SQUARE.copy()
    lengths[0] = np.inf
    trips = estimate_trips(np.array([9.0, 1.0]), ONES, lengths, 3.0)
    check_feasible(trips, lengths, 3.0)
    assert trips[0].sum() == 0


@settings(max_examples=60, deadline=None)
@given(data=st.data(), m=st.integers(1, 6))
def test_anything_gives_a_feasible_table(data, m):
    weights = arrays(np.float64, m, elements=st.floats(-1e7, 1e7))
    some_lengths = st.one_of(st.floats(2, 50), st.just(np.inf))
    lengths = data.draw(arrays(np.float64, (m, m), elements=some_lengths))
    lengths[np.diag_indices(m)] = 2.0
    n = data.draw(st.floats(1e-6, 1e9))
    trips = estimate_trips(data.draw(weights), data.draw(weights), lengths, n)
    check_feasible(trips, lengths, n)


def test_units_do_not_matter():
    b, q, lengths, n = instance("n too small", 20, 1)
    scaled = estimate_trips(1024 * b, 1024 * q, lengths, 1024 * n)
    np.testing.assert_allclose(scaled, 1024 * estimate_trips(b, q, lengths, n), rtol=1e-9, atol=1e-9 * n)


def test_the_same_input_gives_the_same_bytes_and_is_left_alone():
    given_arrays = instance("holes", 20, 1)
    copies = [np.copy(values) for values in given_arrays[:3]]
    first = estimate_trips(*given_arrays)
    assert first.tobytes() == estimate_trips(*given_arrays).tobytes()
    for values, copy in zip(given_arrays, copies, strict=False):
        np.testing.assert_array_equal(values, copy)


def test_caps_on_iterations_leave_a_feasible_table(monkeypatch):
    monkeypatch.setattr(estimation, "_MAX_PROXIMAL", 2)
    monkeypatch.setattr(estimation, "_MAX_NEWTON", 1)
    b, q, lengths, n = instance("n too large", 20, 1)
    check_feasible(estimate_trips(b, q, lengths, n), lengths, n)


@pytest.mark.parametrize(
    ("b", "lengths", "n", "words"),
    [
        (np.ones(3), SQUARE, 1.0, "shapes"),
        (np.array([1.0, np.nan]), SQUARE, 1.0, "finite"),
        (ONES, SQUARE, -1.0, "negative"),
        (ONES, SQUARE, np.inf, "finite"),
        (ONES, SQUARE - 1, 1.0, "at least 2"),
        (ONES, np.full((2, 2), np.nan), 1.0, "at least 2"),
        (ONES, np.full((2, 2), np.inf), 1.0, "no pair"),
    ],
)
def test_what_is_not_a_problem_is_refused(b, lengths, n, words):
    with pytest.raises(ValueError, match=words):
        estimate_trips(b, ONES, lengths, n)


# --- The projection ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("b", "q", "r", "c"),
    [
        ([5, -1], [1, -9], [3, 0], [3, 0]),
        ([5, 1], [-1, 2], [11 / 3, 0], [1 / 3, 10 / 3]),
        ([-5], [-3], [0], [0]),
        ([-5], [7], [1], [1]),
        ([0, 0], [0, 0], [0, 0], [0, 0]),
        ([2, 2], [1, 1], [1.5, 1.5], [1.5, 1.5]),
    ],
)
def test_nearest_marginals_by_hand(b, q, r, c):
    found = estimation._nearest_marginals(np.array(b, dtype=float), np.array(q, dtype=float))
    np.testing.assert_allclose(found, (r, c), atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), m=st.integers(1, 8))
def test_nearest_marginals_have_equal_sums_and_one_shift(data, m):
    weights = arrays(np.float64, m, elements=st.floats(-1e6, 1e6, allow_subnormal=False))
    b, q = data.draw(weights), data.draw(weights)
    r, c = estimation._nearest_marginals(b, q)
    size = max(np.abs(b).max(), np.abs(q).max(), 1e-290)  # halves of the smallest numbers do not exist
    assert r.sum() == pytest.approx(c.sum(), abs=1e-9 * size)
    # Optimality: one λ with r = (b - λ)₊ and c = (q + λ)₊.
    shift = (b - r)[r > 0].tolist() + (c - q)[c > 0].tolist()
    assert np.ptp(shift or [0.0]) <= 1e-9 * size


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reachable", "n too small", "two parts"])
def test_a_thousand_states(kind):
    b, q, lengths, n = instance(kind, 1000, 1)
    check_feasible(estimate_trips(b, q, lengths, n), lengths, n)
