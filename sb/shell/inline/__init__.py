"""Code of other languages in a line, judged by the calls that it makes."""
