"""The `sb` command tree: a file for each group, and for each part of a large one
(`memory_*`, `agent_*`). Installed as `sb.commands`. Commands parse, call and print; rules live below."""
