#!/bin/sh
# Before Claude Code runs a command of its Bash tool: approves swarm's own commands, and nothing else. That is decided by parsing, in
# `swarm hook pre-tool-use`; here only what does not concern us is let go at once. Silence means: ask the user as usual.
exec 2>/dev/null
case $0 in
  /*/hooks/*) root=${0%/hooks/*} ;;
  *) exit 0 ;;
esac

# A disk that does not answer is as silent as we are, and so is whoever gives us an input without an end.
limit=
command -v timeout >/dev/null && limit="timeout -s KILL 3"
# Ours are short. What is longer is read to its end all the same, so that nobody writes into a closed pipe.
input=$($limit head -c 65536 && echo .) || exit 0
if [ "${#input}" -gt 65536 ]; then
  $limit cat >/dev/null
  exit 0
fi
case $input in
  *"/bin/swarm"* | *--privileged* | *.sock* | *docker* | *podman* | *nerdctl*) ;;
  *) exit 0 ;;
esac

answer=$(printf '%s' "${input%.}" | $limit "$root/bin/swarm" hook pre-tool-use --plugin "$root") || exit 0
[ -z "$answer" ] || printf '%s\n' "$answer"
exit 0
