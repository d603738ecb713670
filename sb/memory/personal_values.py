"""The personal and payment data in values of any form: their labels, and the same values without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sb.base.secrets.redaction import MASK

_SHORT = 100  # characters
TOO_LONG = "too_long"  # the label of a text that was searched in part


def labels_in(value: Any) -> tuple[str, ...]:
    """The labels of the personal and payment data in texts, however nested."""
    return labels_of_each([value])[0]


def labels_of_each(values: Sequence[Any]) -> list[tuple[str, ...]]:
    """Returns what `labels_in` does for each of some values; most are known to hold none at a glance."""
    from sb.base.classification import may_hold_personal_data
    from sb.base.secrets.shapes import may_hold_secret

    texts = ["\n".join(_strings(value)) for value in values]
    suspects = [text for text in texts if may_hold_personal_data(text)]
    if not suspects:
        return [()] * len(texts)
    secret = may_hold_secret("\n".join(suspects))  # one look at all of them takes half the time
    found = {text: _labels(text, secret) for text in suspects}
    return [found.get(text, ()) for text in texts]


def _labels(text: str, may_hold_secrets: bool) -> tuple[str, ...]:
    from sb.base.classification import Sensitivity, classify

    seen = classify(text, secrets=None if may_hold_secrets else ())
    labels = dict.fromkeys(
        finding.label for finding in seen.findings if finding.sensitivity != Sensitivity.SECRET
    )
    return (*labels, *(() if seen.complete else (TOO_LONG,)))


def masked(value: Any) -> Any:
    """A value with the personal and payment data of its texts replaced, as ``[redacted:phone]``.

    The texts are searched as one, line by line, as `labels_in` does. Keys are searched as well.
    """
    texts = _strings(value)
    replaced = _masked_texts(texts)
    return value if replaced == texts else _rebuilt(value, iter(replaced))


def _masked_texts(texts: Sequence[str]) -> list[str]:
    from sb.base.classification import Sensitivity, classify

    seen = classify("\n".join(texts))
    if not seen.complete:
        return [item if _is_clean(item) else MASK.format(TOO_LONG) for item in texts]
    found = [item for item in seen.findings if item.sensitivity != Sensitivity.SECRET]
    replaced, start, first = [], 0, 0
    for text in texts if found else ():
        end, at, parts = start + len(text), start, list[str]()
        while first < len(found) and found[first].start < end:
            finding = found[first]
            parts += [seen.text[at : max(at, finding.start)], MASK.format(finding.label)]
            at = min(finding.end, end)
            if finding.end > end:  # the rest of it stands in the next text
                break
            first += 1
        replaced.append("".join((*parts, seen.text[at:end])))
        start = end + 1
        while first < len(found) and found[first].end <= start:
            first += 1
    return replaced if found else list(texts)


def _is_clean(text: str) -> bool:
    """True if a text by itself, such as the name of a field beside a long one, is short and holds nothing."""
    return len(text) <= _SHORT and not labels_in(text)


def _strings(value: Any) -> list[str]:
    found: list[str] = []
    _add_strings(value, found)
    return found


def _add_strings(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            found.append(str(name))
            _add_strings(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            if item is not None and not isinstance(item, float):
                _add_strings(item, found)


def _rebuilt(value: Any, texts: Iterator[str]) -> Any:
    """A value with its texts, in the order of `_strings`, taken from elsewhere."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        made: dict[Any, Any] = {}
        for name, item in value.items():
            key = next(texts)
            field = name if key == str(name) else _free(key, made)
            made[field] = _rebuilt(item, texts)
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
