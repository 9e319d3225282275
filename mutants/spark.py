"""What would void the promise, or change the counts, where an engine holds the data."""

from __future__ import annotations

from mutants.mutant import Mutant

_EQUAL, _FAULTS = "spark/test_equality.py", "spark/test_faults.py"
_SOURCE, _TELLING = "spark/test_source.py", "spark/test_telling.py"

MUTANTS = (
    Mutant(
        "a-key-may-come-back",
        "a trajectory whose rows are not together counts twice",
        "frames/spark.py",
        "if falls.any():",
        "if False:",
        (_FAULTS,),
    ),
    Mutant(
        "a-table-may-change",
        "passes over a table that changes meanwhile count different rows",
        "frames/spark.py",
        "if seen.rows != self._seen[0].rows:",
        "if seen.n_rows > self._seen[0].n_rows:",
        (_FAULTS,),
    ),
    Mutant(
        "digests-of-keys-alone",
        "a value that changes between two passes is not noticed",
        "rows/grouping.py",
        "        _mix(_words(words), hashes)\n    return hashes\n\n\ndef _words",
        "        _words(words)\n    return hashes\n\n\ndef _words",
        (_FAULTS,),
    ),
    Mutant(
        "everybody-counts-there",
        "on a cluster all trajectories of a user count, and the noise is for a few",
        "backends/passes.py",
        "if self.choose is not None:",
        "if False:",
        (_EQUAL,),
    ),
    Mutant(
        "users-capped-per-partition",
        "of a user whose trajectories are in several partitions, the cap counts in each",
        "frames/spark.py",
        "*([_USER] if by_user else keys)",
        "*keys",
        (_EQUAL,),
    ),
    Mutant(
        "users-capped-per-batch",
        "of a user whose trajectories come in several parts, the cap counts in each",
        "frames/spark.py",
        "if first:\n                yield self.choose(held[:first])\n                held = held[first:]",
        "if True:\n                yield self.choose(held)\n                held = None\n"
        "                continue",
        (_SOURCE,),
    ),
    Mutant(
        "errors-quote-rows-there",
        "what goes wrong on a worker is told in words that quote a row, and Spark logs them",
        "frames/telling.py",
        'text = str(error) if isinstance(error, EngineFault) else f"{type(error).__name__}{line}"',
        "text = str(error)",
        (_TELLING,),
    ),
    Mutant(
        "spark-is-quoted",
        "errors quote what Spark says, which may be a row",
        "frames/telling.py",
        "or (named[1] if named else type(error).__name__)",
        "or text",
        (_TELLING,),
    ),
    Mutant(
        "an-interrupt-is-a-failure",
        "who interrupts a fit on a cluster is told that Spark failed",
        "frames/telling.py",
        "if _is_interrupt(error):",
        "if False:",
        (_TELLING,),
    ),
    Mutant(
        "java-goes-on",
        "who interrupts a fit on Spark from the command line leaves Java running",
        "cli/engine.py",
        "self._java.terminate()",
        "pass",
        ("spark/test_commands.py",),
    ),
    Mutant(
        "tallies-of-one-partition",
        "of what the curator is told of a cluster, only one partition counts",
        "frames/spark.py",
        "total[:] += self.count(part)",
        "total[:] = self.count(part)",
        (_SOURCE,),
    ),
    Mutant(
        "the-choice-is-told-again",
        "on a cluster the curator is told in every pass how many trips of users count",
        "privacy/choosing.py",
        "if self.counted:",
        "if False:",
        (_SOURCE,),
    ),
    Mutant(
        "the-ledger-goes-along",
        "tasks on other machines get the crossing, with its ledger and noise",
        "privacy/crossing.py",
        "counting = Counting(self.clip, kernels, tuple(empty), aside)",
        "counting = Counting(lambda part: self.clip(part), kernels, tuple(empty), aside)",
        (_SOURCE,),
    ),
    Mutant(
        "the-first-sums-count",
        "of the sums of a partition, only the first of each table come back",
        "backends/spark.py",
        "for start in range(0, len(sums.codes), _BATCH_ROWS):",
        "for start in range(0, min(len(sums.codes), 1), _BATCH_ROWS):",
        (_EQUAL,),
    ),
    Mutant(
        "rows-without-a-key-not-told",
        "on a cluster rows are left out, and nobody hears of it",
        "frames/spark.py",
        "(self._n_keyless,) = counts.toArrow().to_pylist()",
        "self._n_keyless = {}",
        (_SOURCE,),
    ),
    Mutant(
        "blocks-begin-anew",
        "on a cluster every block has the first trajectories",
        "methods/on_spark.py",
        "self._made(model, block * self.size)",
        "self._made(model, 0 * block)",
        ("spark/test_sampling.py",),
    ),
)
