"""Rank the candidates of a search by a weighted sum of features.

Pure: no database, no clock, no model. The index and the vectors only name candidates; one weighted sum of a few plain
numbers orders them, and each of those numbers times its weight is the explanation of a rank.
"""
