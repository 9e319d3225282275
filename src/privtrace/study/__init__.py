"""Compare methods on one data set, over epsilons and runs. NOT PRIVATE: it reads the real data exactly.

competitors    who takes part: methods, classes from outside, finished files
programs       which version of a class from outside it is
trials         one fit, sample and measurement; what it costs; the marks that scores are read by
messages       what processes send each other
worker         the process that runs trials
workers        several of them side by side
store          results by key in one Parquet file, so that a comparison that was killed goes on
significance   Welch's test, Holm's correction, wins
reading        from results to a Study
study          Study: what was found
comparing      compare: from arguments to a Study
"""
