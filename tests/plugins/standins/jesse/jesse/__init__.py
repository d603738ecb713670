"""A stand-in of the part of Jesse that calls strategies, as its documentation of strategies describes it."""
