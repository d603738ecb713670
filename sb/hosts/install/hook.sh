#!/bin/sh
# Written by `sb install`: what coding agents run before and after their tool calls.
python=@python@
package=@package@
runtime=@runtime@
SB_HOME=@home@
export SB_HOME
[ $# -gt 0 ] || set -- claude-code
if [ "$1" = serve ]; then
    # The server is started by a person's program, before any agent works in a folder.
    [ -x @own@ ] && exec @own@ -I -m sb "$@"
    echo "SecondBrain is missing: @own@ is gone. Install it again." >&2
    exit 1
fi

# -I and -S: no variable, no .pth file, no sitecustomize and no code of the folder that the agent works in takes part.
@closed@
there() {
    [ -x "$python" ] && [ -e "$package/__main__.py" ] && [ -e "$runtime/start.py" ]
}
if there; then
    exec "$python" -I -S -X pycache_prefix="$runtime/pycache" "$runtime/start.py" hook "$1"
fi

look_for_closed "$python" "$package" "$runtime"
there && closed=$runtime
if [ -n "$closed" ]; then
    echo "Not run: $closed cannot be opened, so that SecondBrain judges nothing. Do not work around it." >&2
    echo "Ask the user to run sb doctor." >&2
    exit 2
fi
PATH=/usr/bin:/bin:${PATH-}
if [ "${2-}" = --fail-closed ]; then
    echo "Not run: SecondBrain is missing, and $1 is set to run no tool without it. Do not work around it." >&2
    echo "Ask the user to install it again, or to remove the entries that name $0 from the settings of $1." >&2
    exit 2
fi
payload=$(cat)
case $payload in
*'"cursor_version"'*) ;;
*) exit 0 ;;
esac
case $(printf '%s\n' "$payload" | sed -n 's/.*"hook_event_name"[[:space:]]*:[[:space:]]*"\([A-Za-z]*\)".*/\1/p') in
beforeShellExecution | beforeMCPExecution) echo '{"permission": "ask"}' ;;
preToolUse | beforeReadFile | subagentStart) echo '{"permission": "allow"}' ;;
beforeSubmitPrompt) echo '{"continue": true}' ;;
*) echo '{}' ;;
esac
