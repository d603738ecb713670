"""Does a value fit a pattern that a person wrote?"""

from fnmatch import fnmatchcase
from typing import Any

from sb.kernel.data_classification import leaves


def matches(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern)


def permits(pattern: str, value: Any) -> bool:
    return all(fnmatchcase(leaf, pattern) for leaf in leaves(value))
