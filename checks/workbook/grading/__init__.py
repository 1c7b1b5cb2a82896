"""Grading a class: hand-ins are compiled and judged in a sandbox, and the results are written for people and for machines."""
