#!/bin/sh
# Written by `sb install`: starts the commands of coding agents in confinement.
python=@python@
runtime=@runtime@
state=@state@
if [ $# -ne 1 ]; then
    echo "sb-confine: not for use by hand: a coding agent's host starts it with one command line" >&2
    exit @refused@
fi
shell=${CLAUDE_CODE_SHELL:-${SHELL:-/bin/bash}}
case $shell in
*/bash | */zsh) ;;
*) shell=/bin/bash ;;
esac
[ -x "$shell" ] || shell=/bin/sh
# What `sb install` wrote itself, word for word, runs as the person's own.
case $1 in
@own@) exec /bin/sh -c "exec $1" ;;
esac
# Signs of confinement that no command can make outside of it: a mount on the folder below, and a process above that
# the starter noted where commands cannot write.
is_inside() {
    [ -e /proc/self/stat ] || { [ -n "${SB_CONFINED-}" ]; return; }
    while read -r _ _ _ _ place _; do
        [ "$place" = @mounted@ ] && return
    done < /proc/self/mountinfo
    read -r boot < /proc/sys/kernel/random/boot_id
    pid=$$
    while [ "$pid" -gt 0 ] && read -r stat < "/proc/$pid/stat"; do
        set -- ${stat##*) }
        [ -e @inside@/"$boot.$pid.${20}" ] && return
        pid=$2
    done
    return 1
} 2> /dev/null
# Inside of confinement this folder cannot be read; Landlock does not answer that question, it only refuses to open.
closed=
[ -d "$state" ] && { [ ! -r "$state" ] || [ ! -x "$state" ]; } && closed=yes
[ -e "$state/kind" ] && ! true 2> /dev/null < "$state/kind" && closed=yes
if [ -n "$closed" ]; then
    # One engine is enough. Outside, a command took the right to read it away.
    is_inside && exec "$shell" -c "$1"
    echo "sb-confine: not run: $state cannot be read. Ask the user to run sb doctor." >&2
    exit @refused@
fi
[ -e "$state/off" ] && exec "$shell" -c "$1"
program=
[ -r "$state/program" ] && read -r program < "$state/program"
kind= starter= packages=
[ -r "$state/kind" ] && { read -r kind; read -r starter; read -r packages; } < "$state/kind"
# The process that keeps the PID namespace of this home's commands; it is to be the one that was noted.
lives() {
    [ "$1" != Z ] && [ "${20}" = "$since" ]
}
joined=no
if [ "$kind" = bubblewrap ]; then
    joined= holder= since= boot= now= stat=
    [ -r "$state/holder" ] && read -r holder since boot < "$state/holder"
    read -r now < /proc/sys/kernel/random/boot_id
    if [ "$holder" = none ]; then
        [ "$since" = "$now" ] && joined=no
    elif [ "$boot" = "$now" ] && [ -r "/proc/$holder/stat" ] && [ -r "/proc/$holder/ns/pid" ]; then
        exec 8< "/proc/$holder/ns/user" 7< "/proc/$holder/ns/pid"
        read -r stat 2> /dev/null < "/proc/$holder/stat"
        lives ${stat##*) } && joined=yes
    fi
    # Without a holder the slow path makes one; where that is missing, the options alone hold.
    [ -x "$python" ] && [ -e "$runtime/start.py" ] || joined=${joined:-no}
fi
# Which process this is: the engine takes its place, and it ends with the line.
began() {
    began=${20}
}
# Has git leave nothing behind that goes on with its keys: `gc --auto` would, and reads the configuration again.
tidy_later() {
    count=${GIT_CONFIG_COUNT:-0}
    export "GIT_CONFIG_KEY_$count=gc.auto" "GIT_CONFIG_VALUE_$count=0"
    count=$((count + 1))
    export "GIT_CONFIG_KEY_$count=maintenance.auto" "GIT_CONFIG_VALUE_$count=false" "GIT_CONFIG_COUNT=$((count + 1))"
}
# Starts the engine with the options in a file.
begin() {
    case $kind in
    landlock) exec "$program" -I -S -X pycache_prefix="$runtime/pycache" "$starter" "$packages" "$1" "$shell" -c "$2" ;;
    sandbox-exec) exec "$program" -f "$1" "$shell" -c "$2" ;;
    esac
    case $joined in
    yes) exec "$program" @joining@ @starting@ "$shell" -c @closing@"$2" 9< "$1" ;;
    *) exec @starting@ "$shell" -c "$2" 9< "$1" ;;
    esac
}
# Runs the agent's line outside, and nothing else of what the host wrote: that goes through files anybody may make.
alone() {
    tail=${whole##*" && pwd -P >| "}
    PATH=$path
    export PATH
    case $whole in
    *" && eval $line < /dev/null && pwd -P >| $tail")
        # The host has not made the file, so what is there by now is another's: a link is not followed.
        exec "$shell" -c "eval $line < /dev/null && { set -C; pwd -P > $tail || :; } 2> /dev/null" ;;
    *) exec "$shell" -c "eval $line < /dev/null" ;;
    esac
}
whole=$1
case $1 in
*" && eval "*)
    # As the host puts it: its own preparation, the agent's line in quotes, and where the folder is noted.
    line=${1%" && pwd -P >| "*}
    line=${line%" < /dev/null"}
    line=${line#*" && eval "}
    cd -P . 2> /dev/null
    true 2> /dev/null > "$state/ran"
    # What was written for another session says nothing to this one.
    session=${@session@-}
    case $session in
    '' | *[!A-Za-z0-9-]*) session=@any@ ;;
    esac
    for ticket in "$state"/tickets/"$session".*.call; do
        [ -r "$ticket" ] || continue
        command= folder= outside= path= keyed= tree= key= stat= began=
        . "$ticket"
        if [ "$command" = "$line" ] && [ "$folder" = "$PWD" ] && [ -n "$joined$outside" ]; then
            read -r stat 2> /dev/null < "/proc/$$/stat" && began ${stat##*) }
            # Taken once: the second one to make this file finds it there.
            set -C
            echo "$$ $began" 2> /dev/null > "$ticket.taken" || continue
            set +C
            [ -n "$keyed" ] && tidy_later
            # Who was asked may have changed files meanwhile: what undo restores is what is there now.
            [ -n "$key" ] && [ -x "$python" ] && SB_HOME=@home@ "$python" -I -S -X pycache_prefix="$runtime/pycache"                 "$runtime/start.py" tree "$tree" "$key" < /dev/null > /dev/null 2>&1
            [ -n "$outside" ] && alone
            [ -x "$program" ] && begin "$ticket.options" "$1"
        fi
    done
    # The profile is that of this folder and of none above: the hook writes one for each call that it judges.
    options=$state/folders/$session rest=${PWD#/}
    while [ -n "$rest" ]; do
        options=$options/_${rest%%/*}
        case $rest in
        */*) rest=${rest#*/} ;;
        *) rest= ;;
        esac
    done
    [ -x "$program" ] && [ -n "$joined" ] && [ -r "$options/options" ] && begin "$options/options" "$1"
    ;;
esac
@closed@
there() {
    [ -x "$python" ] && [ -e "$runtime/start.py" ]
}
if there; then
    SB_HOME=@home@
    export SB_HOME
    exec "$python" -I -S -X pycache_prefix="$runtime/pycache" "$runtime/start.py" @command@ "$shell" "$1"
fi
look_for_closed "$python" "$runtime"
there && closed=$runtime
if [ -n "$closed" ]; then
    echo "sb-confine: not run: $closed cannot be opened. Ask the user to run sb doctor." >&2
    exit @refused@
fi
if [ -e "$state/required" ]; then
    echo "sb-confine: not run: SecondBrain is missing, and hooks.confine = require. Ask the user to run sb install again." >&2
    exit @refused@
fi
exec "$shell" -c "$1"
