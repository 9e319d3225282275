"""Spend epsilon: what is protected, exact noise, and the ledger through which alone noise is had."""
