"""The themes: every text can be read on every surface it is painted on, in full colour and in 256 colours."""

from __future__ import annotations

import pytest
from rich.color import Color, ColorSystem
from rich.style import Style
from sb.screens.state.listing import TONES
from sb.screens.theme import DARK, LIGHT, tokens

from tests.screens.contrast import contrast

SURFACES = ("canvas", "panel", "raised", "cursor", "cursor2")
DIFF = ("add_bg", "add_word", "del_bg", "del_word")
PAIRS = [
    *((text, surface) for text in ("text", *TONES) for surface in SURFACES),
    *((tone, f"{tone}_bg") for tone in ("ok", "warn", "danger", "info")),
    *(("text", surface) for surface in DIFF),
    *(("hit", "hit_bg"), ("on_accent", "accent"), ("panel", "danger")),
]


def painted(name: str, *, cube: bool) -> dict[str, Color]:
    """The colours as a terminal gets them."""
    colours = {token: Color.parse(value) for token, value in tokens(name, cube=cube).items()}
    system = ColorSystem.EIGHT_BIT if cube else ColorSystem.TRUECOLOR
    return {token: Color.from_triplet(of.downgrade(system).get_truecolor()) for token, of in colours.items()}


@pytest.mark.parametrize("cube", [False, True], ids=["full", "256"])
@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_every_pair_of_text_and_surface_has_a_contrast_of_four_and_a_half(name: str, cube: bool) -> None:
    colour = painted(name, cube=cube)
    low = {
        (text, surface): ratio
        for text, surface in PAIRS
        if (ratio := contrast(Style(color=colour[text], bgcolor=colour[surface]))) < 4.5
    }
    assert not low


@pytest.mark.parametrize("cube", [False, True], ids=["full", "256"])
@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_surfaces_that_meet_differ_and_so_do_the_tones(name: str, cube: bool) -> None:
    colour = painted(name, cube=cube)
    assert len({colour[surface].triplet for surface in ("panel", "cursor", "cursor2", "line")}) == 4
    assert len({colour[tone].triplet for tone in ("text", *TONES)}) == 8
    assert all(
        colour[f"{tone}_bg"].triplet != colour["panel"].triplet for tone in ("ok", "warn", "danger", "info")
    )
    assert colour["add_word"].triplet != colour["add_bg"].triplet
    assert colour["del_word"].triplet != colour["del_bg"].triplet
