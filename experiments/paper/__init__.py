"""Run the whole evaluation of the PrivTrace paper again, and write what it shows into the documents.

sections   what is run: data, methods and settings, epsilons and runs
costs      time and memory, and how they grow
results    what was found, by section and data set
claims     what the paper says in words, and whether it holds here
pictures   the figures
documents  the pages that hold numbers

Results of trials are kept in experiments/results, one Parquet file for each section and data set, and written
anew as they come: a run that was ended goes on where it was.
"""
