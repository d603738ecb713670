"""Quarantine: memories of untrusted sources wait until a person releases or purges them."""
