#!/bin/sh
# Runs after Claude Code has started a swarm in the background: waits for its end beside the session, and then wakes
# Claude with exit code 2. With any other exit code Claude is not woken.
input=$(head -c 262144 2>/dev/null && echo .) || exit 0
case $input in
  *"/bin/swarm start "* | *"/bin/swarm resume "*) ;;
  *)
    cat >/dev/null 2>&1
    exit 0
    ;;
esac
root=${0%/hooks/*}
# The program ends by itself when this script ends.
said=$(printf '%s' "${input%.}" | "$root/bin/swarm" hook post-tool-use --plugin "$root" 2>/dev/null)
[ -n "$said" ] || exit 0
printf '%s\n' "$said" >&2
exit 2
