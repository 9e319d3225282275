"""Measure how trips are reported and when they happen, and set points on lines where a clock ticks.

A stage of its own: a method hands it lines and gets points back, with times where they are wanted.

    bins       public bins and classes
    counts     what a trajectory contributes to its tables
    measure    which tables are measured
    clean      chances from noisy tables
    draw       how many points a line gets, where on it, and when
    model      what is released of it, and what is drawn from that
"""
