"""The personal and payment data in values of any form: their labels, and the same values without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sb.redaction import MASK

_SHORT = 100  # characters
TOO_LONG = "too_long"  # the label of a text that was searched in part


def labels_in(value: Any) -> tuple[str, ...]:
    """The labels of the personal and payment data in texts, however nested."""
    from sb.classification import Sensitivity, classify

    seen = classify("\n".join(_strings(value)))
    labels = dict.fromkeys(one.label for one in seen.findings if one.sensitivity != Sensitivity.SECRET)
    return (*labels, *(() if seen.complete else (TOO_LONG,)))


def masked(value: Any) -> Any:
    """A value with the personal and payment data of its texts replaced, as ``[redacted:phone]``.

    The texts are searched as one, line by line, as `labels_in` does. Keys are searched as well.
    """
    texts = list(_strings(value))
    replaced = _masked_texts(texts)
    return value if replaced == texts else _rebuilt(value, iter(replaced))


def _masked_texts(texts: Sequence[str]) -> list[str]:
    from sb.classification import Sensitivity, classify

    seen = classify("\n".join(texts))
    if not seen.complete:
        return [one if _is_clean(one) else MASK.format(TOO_LONG) for one in texts]
    found = [one for one in seen.findings if one.sensitivity != Sensitivity.SECRET]
    replaced, start, first = [], 0, 0
    for text in texts if found else ():
        end, at, parts = start + len(text), start, list[str]()
        while first < len(found) and found[first].start < end:
            one = found[first]
            parts += [seen.text[at : max(at, one.start)], MASK.format(one.label)]
            at = min(one.end, end)
            if one.end > end:  # the rest of it stands in the next text
                break
            first += 1
        replaced.append("".join((*parts, seen.text[at:end])))
        start = end + 1
        while first < len(found) and found[first].end <= start:
            first += 1
    return replaced if found else list(texts)


def _is_clean(text: str) -> bool:
    """Whether a text by itself, such as the name of a field beside a long one, is short and holds nothing."""
    return len(text) <= _SHORT and not labels_in(text)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _rebuilt(value: Any, texts: Iterator[str]) -> Any:
    """A value with its texts, in the order of `_strings`, taken from elsewhere."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        made: dict[Any, Any] = {}
        for name, item in value.items():
            key = next(texts)
            said = name if key == str(name) else _free(key, made)
            made[said] = _rebuilt(item, texts)
        return made
    if isinstance(value, list | tuple):
        return type(value)([_rebuilt(item, texts) for item in value])
    return value


def _free(key: str, taken: Mapping[Any, Any]) -> str:
    """A key that is not taken, so that two masked ones stay two."""
    number = 2
    name = key
    while name in taken:
        name, number = f"{key} {number}", number + 1
    return name
