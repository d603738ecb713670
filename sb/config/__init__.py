"""Settings: `load_config` loads them with the origin of each; `sb.config.model` is their table."""

from typing import TYPE_CHECKING

from sb.base.lazy import lazy_exports
from sb.base.reading import Problem
from sb.config.home import Home
from sb.config.host_patterns import HostPattern
from sb.config.kinds import AgentSettings
from sb.config.load import current_config, load_config
from sb.config.model import DEFAULT, SETTINGS, Config
from sb.config.setting import Setting
from sb.config.sources import check, find_project
from sb.config.trust import is_trusted, trust

if TYPE_CHECKING:
    from sb.config.render import (
        CurrentSetting,
        current_settings,
        render_example,
        render_table,
        settings_schema,
    )
else:
    __getattr__, _ = lazy_exports(
        __name__,
        {"sb.config.render": "CurrentSetting current_settings render_example render_table settings_schema"},
    )

__all__ = [
    "DEFAULT",
    "SETTINGS",
    "AgentSettings",
    "Config",
    "CurrentSetting",
    "Home",
    "HostPattern",
    "Problem",
    "Setting",
    "check",
    "current_config",
    "current_settings",
    "find_project",
    "is_trusted",
    "load_config",
    "render_example",
    "render_table",
    "settings_schema",
    "trust",
]
