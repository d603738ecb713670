"""The `sb` command tree, installed as `sb.commands`: a file a group, or a part of a group. Rules live below."""
