#!/bin/sh
# When a session of Claude Code begins: one line where a swarm runs or needs attention. Without a state file nothing is started.
exec 2>/dev/null
folder=${CLAUDE_PROJECT_DIR:-$PWD}
until [ -e "$folder/.git" ]; do
  case $folder in
    */*) folder=${folder%/*} ;;
    *) exit 0 ;;
  esac
done
[ -f "$folder/.aimi/swarm-state.json" ] || exit 0
root=${0%/hooks/*}
# A disk that does not answer is as silent as we are.
limit=
command -v timeout >/dev/null && limit="timeout -s KILL 3"
news=$(cd "$folder" && $limit "$root/bin/swarm" hook session-start --plugin "$root") || exit 0
[ -z "$news" ] || printf '%s\n' "$news"
exit 0
