"""The tokens of words, by the tokenizer file of the static model."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.base.values.numeric import np
from sb.store.embedding import native

if TYPE_CHECKING:
    from kitoken import Kitoken

SPACE = "\u2581"  # what the tokenizer has in the place of a space
CONVERTED = Path(__file__).with_name("l2_supercat.kit")
"""The tokenizer file of wordllama 0.2.2.post0 in kitoken's own format, which loads in a tenth of the time."""
# kitoken ends the process over some damaged files, so it is given no other.
_DIGEST = "2c77ac950ef986704309eaafa28898a6"
_LONGEST_KEPT, _MOST_KEPT = (
    24,
    50_000,
)  # characters of a word of which the tokens are remembered, and such words
# The names of special tokens: what a text says, even `</s>`, is text, so they are named by what is no character.
_SPECIAL = ("<unk>", "<s>", "</s>")


def load_tokenizer(source: Path) -> Kitoken:
    """The tokenizer, from the converted file, or where this kitoken cannot read that, from the model's own.

    Args:
        source: the tokenizer file of the model.

    Raises:
        ImportError, OSError, ValueError: it cannot be read.
    """
    native.load()
    from kitoken import Kitoken

    try:
        ready = CONVERTED.read_bytes()
        if hashlib.blake2b(ready, digest_size=16).hexdigest() == _DIGEST:
            return Kitoken(ready)
    except (OSError, ValueError):  # left out of an installation, or of another version of kitoken
        pass
    return Kitoken(convert(source))


def convert(source: Path) -> bytes:
    """The tokenizer file of a model in kitoken's own format.

    Raises:
        ImportError, OSError, ValueError: it cannot be read.
    """
    import orjson

    native.load()
    from kitoken import Kitoken

    document: dict[str, Any] = orjson.loads(_unnamed(source.read_bytes()))
    document |= {
        "normalizer": None,
        "post_processor": None,
    }  # words come prepared, and nothing is added to them
    return bytes(Kitoken.from_tokenizers(orjson.dumps(document)).to_bytes())


def _unnamed(document: bytes) -> bytes:
    for number, name in enumerate(_SPECIAL):
        document = document.replace(f'"{name}"'.encode(), f'"\ufdd0{number}\ufdd1"'.encode())
    return document


class WordTokens(dict[str, bytes]):
    """The tokens of words, as numbers of 8 bytes: no token goes on after a space, so that a word has the same anywhere."""

    def __init__(self, tokenizer: Kitoken) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> bytes:
        text = (SPACE + word.replace(" ", SPACE)).replace("\ufdd0", "\ufdd2")  # which stands for nothing
        found = np.array(self._tokenizer.encode(text, False), np.int64).tobytes()
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[word] = found
        return found
