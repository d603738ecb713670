"""The console's themes: one set of tokens, dark and light, for full colour and for 256 colours."""

from __future__ import annotations

from textual.theme import Theme

TOKENS = (
    *("text", "soft", "accent", "ok", "warn", "danger", "info", "violet"),
    *("canvas", "panel", "raised", "cursor", "cursor2", "line", "on_accent"),
    *("ok_bg", "warn_bg", "danger_bg", "info_bg"),
    *("add_bg", "add_word", "del_bg", "del_word", "hit", "hit_bg"),
)
_FULL_DARK = """
#E1E5F0 #A6AEC2 #A3B0FF #7ED69B #F3BC62 #FF9494 #70CBEB #D9A8EE
#0F1117 #151821 #1E2230 #2B3358 #222736 #3F465C #10122A
#16301F #3D2F10 #451A1F #10303C
#12291B #1F5234 #33171B #6B2830 #FFE9A8 #5A4A12
"""
_FULL_LIGHT = """
#1A1E2A #535B6F #3A43BE #125F2B #774600 #A61C29 #0A5970 #7A2C96
#F1F2F6 #FFFFFF #E6E9F1 #D3DAFF #EAECF3 #BCC2D2 #FFFFFF
#DAF2E1 #FCE7C2 #FBDCDD #D6EEF6
#E6F7EB #A7E3B9 #FDEBEC #F7B9BD #3A2E00 #FFE07A
"""
# Of 256 colours the dark tints would become loud ones of the cube, so these surfaces are greys.
_CUBE_DARK = """
#E4E4E4 #AFAFAF #AFAFFF #87D787 #FFAF5F #FF8787 #5FD7FF #D7AFFF
#121212 #1C1C1C #262626 #3A3A3A #303030 #444444 #121212
#303030 #303030 #303030 #303030
#262626 #005F00 #262626 #5F0000 #FFFFAF #5F5F00
"""
_CUBE_LIGHT = """
#121212 #4E4E4E #0000AF #005F00 #5F0000 #AF0000 #005F87 #87005F
#FFFFFF #FFFFFF #E4E4E4 #D7D7FF #EEEEEE #BCBCBC #FFFFFF
#E4E4E4 #E4E4E4 #E4E4E4 #E4E4E4
#EEEEEE #AFFFAF #EEEEEE #FFD7D7 #121212 #FFFF5F
"""
DARK, LIGHT = "sb-dark", "sb-light"
_SETS = {
    (DARK, False): _FULL_DARK,
    (LIGHT, False): _FULL_LIGHT,
    (DARK, True): _CUBE_DARK,
    (LIGHT, True): _CUBE_LIGHT,
}


def tokens(name: str, *, cube: bool = False) -> dict[str, str]:
    """The colours of a theme by their tokens.

    Args:
        cube: for a terminal of 256 colours.
    """
    return dict(zip(TOKENS, _SETS[name, cube].split(), strict=True))


def theme(name: str, *, cube: bool = False) -> Theme:
    """A theme for Textual, whose own variables follow the tokens."""
    colour = tokens(name, cube=cube)
    own = {
        "text-muted": colour["soft"],
        "foreground-muted": colour["soft"],
        "text-disabled": colour["soft"],
        "foreground-disabled": colour["soft"],
        "block-cursor-background": colour["accent"],
        "block-cursor-foreground": colour["on_accent"],
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": colour["cursor2"],
        "block-hover-background": colour["raised"],
        "border": colour["accent"],
        "border-blurred": colour["line"],
        "input-cursor-background": colour["text"],
        "input-cursor-foreground": colour["canvas"],
        "input-selection-background": colour["cursor"],
        "scrollbar": colour["line"],
        "scrollbar-hover": colour["soft"],
        "scrollbar-active": colour["accent"],
        "scrollbar-background": colour["panel"],
        "scrollbar-background-hover": colour["panel"],
        "scrollbar-background-active": colour["panel"],
        "scrollbar-corner-color": colour["panel"],
    }
    return Theme(
        name=name,
        primary=colour["accent"],
        secondary=colour["accent"],
        accent=colour["accent"],
        foreground=colour["text"],
        background=colour["canvas"],
        surface=colour["panel"],
        panel=colour["panel"],
        boost=colour["raised"],
        success=colour["ok"],
        warning=colour["warn"],
        error=colour["danger"],
        dark=name == DARK,
        variables=colour | own,
    )
