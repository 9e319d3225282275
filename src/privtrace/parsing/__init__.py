"""Read values that are written as text: fields of lines, numbers, dates, and times by a declared clock.

Each value is read by itself, from its own bytes and from what is public: no value decides how another is read.
"""
