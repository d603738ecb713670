"""Tools by the names that hosts give them: what each one does is in the hosts' own documentation."""

from __future__ import annotations

from functools import cache

# What a tool does, and what else is known of it, then its names.
_TABLE = """
read: Read NotebookRead ListMcpResourcesTool ReadMcpResourceTool ReadMcpResourceDirTool read_file read_many_files view read
read lists finds: Glob glob file_search
read lists: LS LSP list_directory list list_dir
read searches: Grep grep grep_search
searches: search_file_content
read talks: TodoRead TodoWrite ToolSearch AskUserQuestion EnterPlanMode ExitPlanMode TaskCreate TaskUpdate TaskGet TaskList
read talks: TaskStop TaskOutput BashOutput EnterWorktree CronList KillShell StructuredOutput ask_user todowrite todoread
read talks: update_plan read_bash report_intent write_todos enter_plan_mode exit_plan_mode semantic_search get_errors
read talks: get_terminal_output manage_todo_list
fetch: WebFetch web_fetch webfetch fetch_webpage
fetch talks: WebSearch web_search google_web_search websearch
fetch publishes: Artifact SendUserFile SendMessage PushNotification
agent: Agent Task Workflow Skill CronCreate CronDelete SlashCommand ScheduleWakeup RemoteTrigger invoke_agent activate_skill
agent: task subagent runSubagent
shell: Bash Monitor Shell bash shell shell_command run_shell_command run_in_terminal
shell powershell: PowerShell powershell
write: Edit MultiEdit Write NotebookEdit Delete write_file replace create edit write str_replace_editor StrReplace create_file
write: create_directory replace_string_in_file multi_replace_string_in_file insert_edit_into_file edit_notebook_file
patch: apply_patch patch
"""
OF_SERVERS = ("mcp__", "mcp_", "MCP:")  # how names of MCP servers' tools begin


@cache
def tools(what: str) -> frozenset[str]:
    """The tools with this trait.

    Args:
        what: `read`, `fetch`, `agent`, `shell`, `write`, `patch`; `lists` names alone, `finds` files by a pattern of names,
            `searches` files for a text and shows lines, `talks` about the session itself, `publishes`, `powershell`.
    """
    rows = (line.split(": ") for line in _TABLE.strip().split("\n"))
    return frozenset(name for words, names in rows if what in words.split() for name in names.split())


@cache
def known_tools() -> frozenset[str]:
    """Every tool that has a contract of its own."""
    return frozenset().union(*map(tools, ("read", "fetch", "agent", "shell", "write", "patch")))
