"""Estimate the tokens of a text, offline."""

from __future__ import annotations

import math


def estimate_tokens(text: str) -> int:
    """An estimate that leans high: 0.325 tokens per ASCII character, 0.5 per other byte, rounded up.

    The first factor is the stack protocol's 4 characters a token with a margin of 1.3. The second is chosen,
    not measured: 1.5 tokens for a Chinese or Devanagari character, twice what bytes / 4 would give. No
    byte-level tokenizer exceeds one token per UTF-8 byte, but random strings (keys, base64) can exceed this
    estimate: where a budget must hold exactly, give the injector the model's own counter.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    ascii_size = len(text.encode("ascii", "ignore"))
    return math.ceil((13 * ascii_size + 20 * (size - ascii_size)) / 40)
