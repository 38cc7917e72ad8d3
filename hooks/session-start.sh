#!/bin/sh
# Runs when a session of Claude Code begins: prints one line if a swarm runs or needs attention. Without a state
# file it starts no program.
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
# The time limit covers a disk that does not answer.
limit=
command -v timeout >/dev/null && limit="timeout -s KILL 3"
news=$(cd "$folder" && $limit "$root/bin/swarm" hook session-start --plugin "$root") || exit 0
[ -z "$news" ] || printf '%s\n' "$news"
exit 0
