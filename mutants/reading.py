"""Breakages at the doors: a row that decides for others, times that are no clock, units that are not whole."""

from __future__ import annotations

from mutants.mutant import Mutant

READERS = (
    Mutant(
        "first-feature-as-header",
        "what the first feature or track of a text has is looked for in all",
        "io/features.py",
        "self._names(tuple(one.attributes), one.single)",
        'self._names(*self.__dict__.setdefault("_first", (tuple(one.attributes), one.single)))',
        ("contract/test_readers.py",),
    ),
    Mutant(
        "moving-by-the-first-feature",
        "whether features are moving points, the first that is read decides",
        "io/json_features.py",
        "    if isinstance(moving, dict):",
        '    if _feature.__dict__.setdefault("first", isinstance(moving, dict)) and isinstance(moving, dict):',
        ("contract/test_readers.py",),
    ),
    Mutant(
        "type-of-times-by-the-features",
        "whether times are calendar times, the features of a block decide",
        "io/features.py",
        "read_each(texts, list(numbers), which, self.layout.clock)",
        "read_each(texts, list(numbers), which, [*numbers, self.layout.clock][0])",
        ("io/test_io_times.py", "contract/test_readers.py"),
    ),
    Mutant(
        "a-file-refuses-a-folder",
        "a folder is refused where one of its files cannot be read or has other columns",
        "io/folder.py",
        "except PrivTraceError as refusal:",
        "except ZeroDivisionError as refusal:",
        ("io/test_io_folders.py",),
    ),
    Mutant(
        "a-file-without-a-column-left-out",
        "a file of a folder counts nothing where it lacks a time that is declared",
        "io/columns.py",
        "may_lack = declared.lenient and role in (USER, TIME)",
        "may_lack = False",
        ("io/test_io_folders.py",),
    ),
    Mutant(
        "a-list-without-a-name",
        "in the text of AdaTrace, a list that has lost its name adds to the trajectory before",
        "datasets/dat.py",
        "turns = np.flatnonzero(filled)",
        "turns = np.flatnonzero(named | wrong)",
        ("datasets/test_dat.py", "contract/test_readers.py"),
    ),
    Mutant(
        "ids-taken-for-places",
        "a line that has no id is joined with the one that is called as its place",
        "io/features.py",
        "return pc.if_else(like, _marked(ids), ids) if pc.any(like).as_py() else ids",
        "return ids",
        ("io/test_io_geojson.py",),
    ),
)
TIMES = (
    Mutant(
        "points-without-a-time-kept",
        "where logs are cut, a point without a time sticks to a piece, and moves when that is removed",
        "io/source.py",
        "whole = with_times(batch) if need_times else batch",
        "whole = batch",
        ("io/test_io_times.py",),
    ),
    Mutant(
        "points-without-a-time-kept-in-memory",
        "where entries in memory are joined and cut, a point without a time sticks to a piece",
        "trajectories.py",
        "points = np.flatnonzero(~np.isnan(self.times))",
        "points = np.arange(self.n_points)",
        ("test_trajectories.py",),
    ),
    Mutant(
        "numbers-are-seconds",
        "numbers of no declared unit are a clock, and milliseconds make a trip of every point",
        "io/columns.py",
        "order_only=is_open and not wanted,",
        'unit="s",',
        ("io/test_io_times.py",),
    ),
    Mutant(
        "numbers-are-seconds-in-folders",
        "where logs in a folder are cut, numbers of no declared unit are seconds",
        "parsing/clock.py",
        "elif dates.null_count and self.order_only:",
        "elif dates.null_count:",
        ("io/test_io_times.py",),
    ),
    Mutant(
        "unread-times-not-told",
        "a fit whose times cannot be read goes on without a word",
        "backends/passes.py",
        'getattr(self.source, "tell", lambda observer: None)',
        "lambda observer: None",
        ("io/test_io_times.py",),
    ),
    Mutant(
        "unread-times-called-missing",
        "times that are there and cannot be read count as none",
        "rows/__init__.py",
        "faults.n_unread += int(unread.sum())",
        "faults.n_unread += 0",
        ("io/test_io_times.py",),
    ),
)

#: Zones, periods, and where times are wanted.
ZONES = (
    Mutant(
        "local-times-taken-for-utc",
        "times that name no zone are UTC, whatever zone is declared",
        "parsing/clock.py",
        "if zone == UTC or times.type.tz is not None:",
        "if True:",
        ("io/test_io_zones.py",),
    ),
    Mutant(
        "zoned-columns-moved",
        "timestamps that have a zone by their type are moved as if they had none",
        "parsing/clock.py",
        "if zone == UTC or times.type.tz is not None:",
        "if zone == UTC:",
        ("io/test_io_zones.py",),
    ),
    Mutant(
        "offsets-in-text-moved",
        "text that names its offset is moved as if it named none",
        "parsing/dates.py",
        "np.where(said == _NAIVE, ",
        "np.where(said == said, ",
        ("io/test_io_zones.py",),
    ),
    Mutant(
        "seconds-where-times-are-wanted",
        "where times are wanted of features or folders, numbers of no unit are seconds since 1970",
        "io/columns.py",
        "order_only=is_open and not wanted,",
        "order_only=is_open,",
        ("io/test_io_zones.py",),
    ),
    Mutant(
        "order-of-numbers-lost",
        "where times are wanted, numbers of no unit no longer set the order of points",
        "rows/grouping.py",
        "(ranks,) if order is None else (_ranks(order), ranks)",
        "(ranks,)",
        ("io/test_io_zones.py",),
    ),
    Mutant(
        "period-of-utc-days",
        "a period counts the days of UTC instead of local ones",
        "within.py",
        "self.local.to_local(np.append(seconds, 0)[firsts])",
        "np.append(seconds, 0)[firsts]",
        ("test_within.py",),
    ),
    Mutant(
        "untimed-in-a-period",
        "a trajectory without a time counts by the time of the next one",
        "within.py",
        "return has_time & (days",
        "return (days",
        ("test_within.py",),
    ),
    Mutant(
        "before-1970-in-a-period",
        "a time before 1970 says when a trajectory begins",
        "within.py",
        "np.flatnonzero(seconds >= 0)",
        "np.flatnonzero(seconds > -(1 << 62))",
        ("test_within.py",),
    ),
)
UNITS = (
    Mutant(
        "stamp-kept-when-mixed",
        "what is joined from two models keeps the promise of the first",
        "about.py",
        "return {**theirs, GUARANTEE: MIXED}",
        "return dict(first)",
        ("test_about.py",),
    ),
    Mutant(
        "stamp-kept-without-a-model",
        "parts that promise the same keep it, though nobody says that they are of one model",
        "about.py",
        "(said <= common.keys() and MODEL in said)",
        "said <= common.keys()",
        ("test_about.py",),
    ),
    Mutant(
        "entries-not-joined",
        "in memory, entries with the same user and id count as several trajectories",
        "trajectories.py",
        "return self.joined().cut()",
        "return self.cut()",
        ("test_trajectories.py",),
    ),
    Mutant(
        "any-gaps-together",
        "trips that were cut at different gaps are joined, and the statement names one of them",
        "trajectories.py",
        "if any(part.gap_minutes != parts[0].gap_minutes for part in parts):",
        "if False:",
        ("test_trajectories.py",),
    ),
    Mutant(
        "places-instead-of-numbers",
        "without ids, a user more or less changes which trajectories of all later users count",
        "privacy/selection.py",
        "numbers = before[users[fresh]] + _ranks(users[fresh])",
        'numbers = candidates["place"].to_numpy()[fresh]',
        ("privacy/test_selection.py",),
    ),
)
BUDGETS = (
    Mutant(
        "lost-fit-unnoticed",
        "a budget file that lost its last line reads as if less was spent",
        "privacy/budget_file.py",
        'n_granted = int(first["fits"]) if has_head else 0',
        'n_granted = min(int(first["fits"]), len(entries)) if has_head else 0\n'
        '    first["last"] = checks[n_granted]',
        ("privacy/test_budget_file.py",),
    ),
    Mutant(
        "empty-budget-file-is-new",
        "a budget file that was emptied reads as if nothing was spent",
        "privacy/budget_file.py",
        "if not content:\n",
        'if not content:\n        nothing = BudgetRecord(Fraction(4), "trajectory", (), torn=False)\n'
        "        content = _whole_file(nothing)\n    if not content:\n",
        ("privacy/test_budget_file.py",),
    ),
)

#: Options and outputs.
ENDS = (
    Mutant(
        "synthetic-options-named-as-the-real-ones",
        "messages about the synthetic file name the options of the real one",
        "io/columns.py",
        'prefix = "" if name in _SHARED else self.prefix',
        'prefix = ""',
        ("io/test_io_options.py",),
    ),
    Mutant(
        "output-checked-again",
        "an output that was checked before the work is checked again",
        "io/output.py",
        "with replacing(self.target, beside",
        "with replacing(self.path, self.target.force, beside",
        ("io/test_io_output.py", "cli/test_detours.py"),
    ),
    Mutant(
        "temporary-files-of-the-living-swept",
        "a run removes temporary files of another that is still at work",
        "storage/owned.py",
        "if _is_locked(lock):\n            shutil",
        "if True:\n            shutil",
        ("io/test_io_output.py", "rows/test_spool.py"),
    ),
    Mutant(
        "a-pickled-source-forgets-its-files",
        "a source that was pickled reads whatever has the name of its file by then",
        "io/source.py",
        "if reader.snapshot != snapshot:",
        "if False:",
        ("io/test_io_reading.py",),
    ),
    Mutant(
        "boxes-in-degrees-taken-for-meters",
        "a box in degrees is a few meters wide where data is projected",
        "space/region.py",
        'crs not in ("lonlat", "planar") and in_degrees',
        'crs not in ("lonlat", "planar") and in_degrees and self.shape is not None',
        ("io/test_io_crs.py",),
    ),
    Mutant(
        "a-period-gives-all-away",
        "what a period leaves out can be had from its source by another name",
        "within.py",
        "if name not in _FURTHER:",
        "if name == 'source':",
        ("test_within.py",),
    ),
    Mutant(
        "a-look-loads-a-compiler",
        "whoever looks at a model over a polygon waits for a compiler",
        "compiling.py",
        "python_us > _LITTLE_US or",
        "True or",
        ("test_compiling.py", "test_public_api.py"),
    ),
    Mutant(
        "models-written-to-standard-output",
        "what is no text goes to standard output, or into a file called -",
        "storage/atomic.py",
        "if not is_text:",
        "if False:",
        ("cli/test_exporting.py",),
    ),
)

MUTANTS = (*READERS, *TIMES, *ZONES, *UNITS, *BUDGETS, *ENDS)
