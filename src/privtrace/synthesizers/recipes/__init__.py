"""One recipe a method: its stages in order, from a scan and a ledger to what is released, and nothing else."""
