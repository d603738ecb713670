"""Operators: keys, enrolment, signatures, and verification of who decided."""
