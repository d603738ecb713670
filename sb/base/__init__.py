"""Ground of sb: what every other room may stand on, and which imports none of them."""
