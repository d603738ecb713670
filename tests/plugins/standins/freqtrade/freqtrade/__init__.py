"""A stand-in of the part of Freqtrade that calls strategies, as its documentation of callbacks describes it."""
