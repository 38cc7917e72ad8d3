#!/bin/sh
# When a session of Claude Code begins: one line where a swarm runs or needs attention. Without a state file nothing is started.
folder=${CLAUDE_PROJECT_DIR:-$PWD}
until [ -e "$folder/.git" ]; do
  case $folder in
    */*) folder=${folder%/*} ;;
    *) exit 0 ;;
  esac
done
[ -f "$folder/.aimi/swarm-state.json" ] || exit 0
root=${0%/hooks/*}
cd "$folder" && "$root/bin/swarm" hook session-start --plugin "$root" 2>/dev/null
exit 0
