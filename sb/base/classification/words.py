"""Words beside a value that tell what it is."""

from __future__ import annotations

import re
from functools import cache

_BEFORE, _AFTER = 48, 24  # characters that are looked at

# What stands directly before a number that identifies a thing and nobody.
_THING = re.compile(
    r"(?:\b(?:order|invoice|tracking|parcel|shipment|serial|imei|meid|iccid|isbn(?:-1[03])?|issn|doi|ean|upc|gtin|sku"
    r"|asin|part|model|ticket|case|batch|lot|build|commit|revision|rev|version|ver|release|section|chapter|figure|table"
    r"|page|row|rows|line|port|pid|code|ref|reference|transaction|txn|trace|span|request|session|job|run|timestamp|epoch"
    r"|ts|offset|size|bytes|hash|checksum|crc|seed|oid|zip|coordinates|lat|latitude|lon|lng|longitude|gps|amount|total"
    r"|price|firmware|item|issue|pull request|article|bestellung|bestellnummer|auftrag|rechnung|commande|facture|pedido"
    r"|ordine|fattura|id|uid|key|record|entry|message|msg|event|asset|device|sensor|meter|container|vin|awb|waybill|po|policy"
    r"|claim|booking|reservation|flight|barcode|sample|patent|docket|block|seq|sequence|frame|counter|cursor|nonce|orcid|arxiv"
    r"|pmid|mrn|postcode|plz|cep|routing|coupon|voucher|loyalty|artikel|pedido n|vorgang)|\b[a-z_]*_(?:id|no|number|at|ts)|[§#])"
    r"[\s:=#\"'.\-]{0,4}(?:(?:no|nr|num|number|nummer|id|is|was|code|key)\b[\s:=#\"'.\-]{0,4})?$"
)


def before(text: str, start: int, length: int = _BEFORE) -> str:
    """The text before a value on its line, in lower case."""
    return text[max(0, start - length) : start].rpartition("\n")[2].lower()


def around(text: str, start: int, end: int, length: int = _BEFORE, after: int = _AFTER) -> str:
    """The text before and after a value on its line, in lower case."""
    return before(text, start, length) + " \x00 " + text[end : end + after].partition("\n")[0].lower()


def names_a_thing(text: str, start: int) -> bool:
    """True if the words directly before a number call it an order, a version, a time or the like."""
    return _THING.search(before(text, start)) is not None


@cache
def any_word(alternatives: str) -> re.Pattern[str]:
    """Matches one of several words in lower-case text, each given as an expression."""
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])")
