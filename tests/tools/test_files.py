from __future__ import annotations

import base64
import hashlib
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from conftest import Call, Refusal

from sb.errors import ConfigError
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.tooling.registry import ToolRegistry
from sb.store.kept import KeptStore
from sb.tools import register_builtin
from sb.tools.file_search import SearchBounds
from sb.tools.files import FilesSettings
from sb.tools.http import HttpSettings
from sb.tools.shell import ShellSettings
