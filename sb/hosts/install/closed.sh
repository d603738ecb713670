# Names in $closed a path that may be there and cannot be reached, since a command took a mode away.
look_for_closed() {
    closed=
    for path in "$@"; do
        [ -e "$path" ] && [ ! -x "$path" ] && closed=$path
        while [ ! -d "${path:=/}" ]; do path=${path%/*}; done
        [ -x "$path" ] || closed=$path
    done
}
