"""Secret shapes: each issuer's tokens are masked wherever they stand, and what only looks alike is left."""

from __future__ import annotations

import json
import random
import re
import string
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from sb.base.secrets import shapes as secret_shapes
from sb.base.secrets.redaction import may_be_sensitive, redact_json, redact_text
from sb.base.secrets.shapes import EMAIL, RECOGNISERS, Recogniser, may_hold_secret
from tests.rows import rows

chosen = random.Random(15)


def some(alphabet: str, size: int) -> str:
    return "".join(chosen.choices(alphabet, k=size))


HEX, DIGITS = "0123456789abcdef", string.digits
ALL = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
DISCORD = "MTIzNDU2Nzg5MDEyMzQ1Njc4." + "GxYz12." + "a1B" * 9

SHAPES = [
    ("vault_token", "hvs.CAESI" + some(ALL, 90)),
    ("vault_token", "hvb.AAAAAQ" + some(ALL, 120)),
    ("vault_token", "hvr." + some(ALL, 30)),
    ("vault_token", "s.9fK2mQ7xT4bL1vR8cN3wZ6yH"),
    ("vault_token", "b.AAAAAQ" + some(ALL, 100)),
    ("docker_token", "dckr_pat_" + some(ALL, 27)),
    ("docker_token", "dckr_oat_" + some(ALL, 32)),
    *(("shopify_token", f"shp{kind}_" + some(HEX, 32)) for kind in ("at", "ca", "pa", "ss")),
    ("databricks_token", "dapi" + some(HEX, 32)),
    ("databricks_token", "dapi" + some(HEX, 32) + "-2"),
    ("atlassian_token", "ATATT3xFfGF0" + some(ALL, 171) + "=1A2B3C4D"),
    ("atlassian_token", "ATCTT3xFfGN0" + some(ALL, 171)),
    ("grafana_token", f"glsa_{some(ALL, 32)}_{some(HEX, 8)}"),
    ("grafana_token", "glc_eyJ" + some(ALL, 60) + "=="),
    ("grafana_token", "eyJrIjoi" + some(ALL, 70) + "="),
    ("linear_key", "lin_api_" + some(ALL, 40)),
    ("linear_key", "lin_oauth_" + some(HEX, 64)),
    ("notion_token", "ntn_" + some(DIGITS, 11) + some(ALL, 35)),
    ("notion_token", "secret_" + some(ALL, 43)),
    ("supabase_key", "sbp_" + some(HEX, 40)),
    ("supabase_key", "sb_secret_" + some(ALL, 22) + "_" + some(ALL, 8)),
    ("groq_key", "gsk_" + some(ALL, 52)),
    ("twilio_key", "SK" + some(HEX, 32)),
    ("discord_token", DISCORD),
    ("discord_token", "mfa." + some(ALL, 84)),
    ("discord_webhook", f"discord.com/api/webhooks/{some(DIGITS, 19)}/{some(ALL, 68)}"),
    ("new_relic_key", "NRAK-" + some(UPPER, 27)),
    ("new_relic_key", "NRJS-" + some(HEX, 19)),
    ("new_relic_key", "eu01xx" + some(HEX, 30) + "NRAL"),
    ("age_key", "AGE-SECRET-KEY-1" + some(BECH32, 58)),
    ("sentry_token", "sntrys_eyJ" + some(ALL, 120)),
    ("postman_key", f"PMAK-{some(HEX, 24)}-{some(HEX, 34)}"),
    ("netlify_token", "nfp_" + some(ALL, 36)),
    ("doppler_token", "dp.pt." + some(ALL, 43)),
    ("doppler_token", "dp.st.dev_web." + some(ALL, 43)),
    ("fly_token", "fm2_" + some(ALL, 200)),
    ("planetscale_token", "pscale_tkn_" + some(ALL, 43)),
    ("square_token", "sq0csp-" + some(ALL, 43)),
    ("mailgun_key", "key-" + some(HEX, 32)),
    ("brevo_key", f"xkeysib-{some(HEX, 64)}-{some(ALL, 16)}"),
    ("pulumi_token", "pul-" + some(HEX, 40)),
    ("terraform_token", some(ALL, 14) + ".atlasv1." + some(ALL, 67)),
    ("replicate_token", "r8_" + some(ALL, 37)),
    ("perplexity_key", "pplx-" + some(ALL, 48)),
    ("xai_key", "xai-" + some(ALL, 80)),
    ("openai_key", "sk-or-v1-" + some(HEX, 64)),
    ("google_key", "GOCSPX-" + some(ALL, 28)),
    ("azure_secret", "abc8Q~" + some(ALL, 34)),
    ("heroku_key", "HRKU-AA" + some(ALL, 58)),
    ("cloudflare_key", f"v1.0-{some(HEX, 24)}-{some(HEX, 146)}"),
    ("figma_token", "figd_" + some(ALL, 40)),
    ("airtable_token", f"pat{some(ALL, 14)}.{some(HEX, 64)}"),
    ("hubspot_token", "pat-na1-0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"),
    ("rubygems_key", "rubygems_" + some(HEX, 48)),
]
VALUES = [
    ("twilio_token", f"AC{some(HEX, 32)}:{'c0ffee11' * 4}", "c0ffee11" * 4),
    ("azure_sas", "https://x.blob.core.windows.net/c?sv=2&sig=" + "aB1%2B" * 10 + "%3D", "aB1%2B" * 10),
    ("keyed_secret", "AccountName=x;AccountKey=" + "aB1+" * 21 + "ab==;Endpoint=y", "aB1+" * 21),
]


def named(pair: tuple[str, ...]) -> str:
    return f"{pair[0]}-{pair[1][:10]}"


@rows("label, secret", SHAPES)
def test_a_token_is_masked_and_the_text_around_it_kept(label: str, secret: str) -> None:
    for before, after in (("use ", " now"), ('"', '"'), ("X=", "\n"), ("(", ")."), ("https://h/?k=", "&x=1")):
        text = before + secret + after
        assert redact_text(text) == f"{before}[redacted:{label}]{after}"
        assert may_hold_secret(text)
        assert secret not in redact_json({"note": text, secret: [text]})


@pytest.mark.parametrize(("label", "text", "secret"), VALUES, ids=[label for label, *_ in VALUES])
def test_a_secret_beside_its_name_is_masked(label: str, text: str, secret: str) -> None:
    masked = redact_text(text)
    assert secret not in masked
    assert f"[redacted:{label}]" in masked
    assert may_hold_secret(text)


@rows(
    "text",
    [
        "from sk_learn import svm, sk_metrics_pairwise_distances_1",
        "9b2b1c1e-52a4-4b6b-9a0e-1d1f0e8a7a11.9b2b1c1e-52a4-4b6b-9a0e-1d1f0e8a7a11",
        "sha512-" + some(ALL + "+/", 86) + "==",
        "data:image/png;base64,iVBORw0KGgo" + some(ALL + "+/", 400),
        "resolved https://registry.npmjs.org/lin_api_client/-/lin_api_client-1.0.0.tgz",
        "dapi.get_user(), dapi_version_2_of_the_public_interface, dapi" + "z" * 32,
        "this.props.children, s.CustomEventPolyfill(2), s.getBoundingClientRect2D(x)",
        "sb_publishable_" + some(ALL, 30),  # for the browser of anybody
        "AC" + some(HEX, 32) + " is an account, no secret by itself",
        "sq0idp-" + some(ALL, 22),
        "age1" + some(BECH32.lower(), 58),  # the public half
        "ntn_page, notion_ntn_block, secret_santa_list, secret_key_of_a_sort_function",
        "pul-" + some(HEX, 41),
        "key-value-store-of-the-second-generation",
        "mem_01a1fe4b1c37849d8f2765af1eef run_0a1b2c3d4e5f6071 call_0a1b2c3d4e5f6071",
        "fe4111111111111111ab is part of a digest",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b of pat-na1-main",
        "gsk_encode(x), glc_context, glsa_light, hvs.example.org, nfp_mode, r8_unorm, xai-explained",
    ],
)
def test_what_only_looks_like_a_token_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


def test_words_of_every_day_are_no_reason_to_look_closer() -> None:
    for text in (
        "the key question",
        "a basic idea",
        "tokens of passion",
        "Asia and asian pass holders",
    ):
        assert not may_be_sensitive(text)


def an_example(shape: Recogniser, chance: random.Random) -> str:
    """A random text that the shape's expression matches, with at most three more repeats than it needs."""
    tree = import_module("re._parser").parse(shape.expression, shape.flags)
    for _ in range(200):
        text = generated(tree, chance)
        for before in ("", " ", '"'):
            if shape.pattern.search(before + text):
                return before + text
    raise AssertionError(f"nothing matches {shape.expression}")


def generated(tree: Any, chance: random.Random) -> str:
    return "".join(_one(str(op), found, chance) for op, found in tree)


def _one(op: str, found: Any, chance: random.Random) -> str:
    match op:
        case "LITERAL":
            return chr(found)
        case "IN" | "CATEGORY" | "NOT_LITERAL" | "ANY":
            return chance.choice(_members(_class(op, found)))
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = found
            return "".join(
                generated(inner, chance) for _ in range(chance.choice((least, min(least + 3, most))))
            )
        case "SUBPATTERN":
            return generated(found[3], chance)
        case "BRANCH":
            return generated(chance.choice(found[1]), chance)
    return ""  # what looks around: tried, and tried again


@cache
def _members(wanted: str) -> list[str]:
    """The printable characters of a class of a pattern."""
    return [char for char in map(chr, range(32, 127)) if re.fullmatch(wanted, char)] or ["\n"]


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
}


def _class(op: str, found: Any) -> str:
    if op == "ANY":
        return "."
    if op == "NOT_LITERAL":
        return f"[^{re.escape(chr(found))}]"
    parts = ""
    for inner, value in found:
        match str(inner):
            case "NEGATE":
                parts += "^"
            case "LITERAL":
                parts += re.escape(chr(value))
            case "RANGE":
                parts += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
            case "CATEGORY":
                parts += _CATEGORIES[str(value)]
    return f"[{parts}]"


@rows("shape", RECOGNISERS)
def test_the_quick_look_misses_nothing_that_a_shape_matches(shape: Recogniser) -> None:
    chance = random.Random(shape.expression)  # its own: whichever tests ran before, the texts are the same
    for _ in range(60):
        text = an_example(shape, chance)
        match = shape.pattern.search(text)
        assert match is not None
        assert any(hint in match.group().lower() for hint in shape.hints), text
        assert may_be_sensitive(text), text
        assert may_be_sensitive(json.dumps({"a": text}, ensure_ascii=False)), text
        if shape.label != EMAIL:
            assert may_hold_secret(text), text
            assert secret_shapes._one_by_one(text.lower()), text
            assert secret_shapes._one_by_one(json.dumps({"a": text}, ensure_ascii=False).lower()), text


def test_the_first_looks_of_a_process_see_cards_too() -> None:
    for card in ("4111111111111111", "4111 1111 1111 1111", "4111\u20131111\u20131111\u20131111"):
        assert secret_shapes._one_by_one(f"paid with {card}, thanks")
    assert not secret_shapes._one_by_one("in 2026, 12 of 31 days, at 10:00 and 14:30, for 99.50 each")


@rows(
    "text",
    [
        *(
            "hvs." * 50_000,
            "." * 200_000,
            "-" * 200_000,
            "ac" + "0" * 200_000,
            "SK" * 100_000,
            "s.a1B" * 40_000,
        ),
        *("://" * 66_000, "a://b@" * 33_000, "key " * 50_000, "MTIz" * 50_000 + ".", "AC" + "0a" * 100_000),
        *(
            "token\\n\\n\\n" * 20_000,
            "secret_access_key" * 12_000,
            "AC" + "0" * 32 + (" " * 59 + "0" * 31) * 2_000,
        ),
    ],
)
def test_no_text_takes_long_to_look_through(text: str) -> None:
    import time

    started = time.process_time()
    redact_text(text)
    secret_shapes._one_by_one(text.lower())
    assert time.process_time() - started < 5  # a quadratic pattern takes minutes
