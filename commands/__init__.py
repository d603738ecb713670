"""The `sb` command tree: one file a group. Commands parse, call and print; rules live below."""
