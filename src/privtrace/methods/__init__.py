"""Hold the methods, a folder each with one outline, what they share, and the registry that lists them.

    registry     the list: ours, those of installed packages, and those that a program registers
    declaring    how a setting is declared, once
    settings     what the settings of all methods share
    plan         what a fit would give, from public numbers
    fitting      how a fit begins and ends
    model        what the models of all methods share
    sampling     trajectories from a model, block by block
    view         what any model can show
    common/      what methods share of counting, measuring, cleaning and placing

Of a method, settings.py has its settings and the rules for sizes, recipe.py its stages in order, counts.py what
a trajectory contributes to its tables, measure.py which tables are measured, and model.py what is released.
docs/methods/adding.md says how to add one, from inside or from outside.
"""
