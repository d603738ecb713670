"""What the console's style sheet keeps of a place is what Textual would find there."""

from __future__ import annotations

from sb.screens.app import ConsoleApp
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.widget import Widget

from tests.screens.conftest import Agents, Console


def rules(app: ConsoleApp) -> dict[Widget, list[object]]:
    """Of each widget in view and of its parts."""
    return {
        widget: [
            widget.styles.base.get_rules(),
            *(part.get_rules() for part in widget._component_styles.values()),
        ]
        for widget in app.screen.walk_children(Widget, with_self=True)
    }


def test_a_visited_screen_has_the_styles_that_textual_matches_anew(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        for keys in (["2"], ["5"], ["2", "tab"], ["slash"], ["escape", "T"], ["f"], ["f", "question_mark"]):
            await console.press(pilot, *keys)
            kept = rules(console.app)
            plain = Stylesheet(variables=console.app.get_css_variables())
            plain.source = dict(console.app.stylesheet.source)
            plain.parse()
            plain.update(console.app.screen)
            matched = rules(console.app)
            wrong = [widget for widget in kept if kept[widget] != matched[widget]]
            assert not wrong, keys

    console(script, (120, 36))
