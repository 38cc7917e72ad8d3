#!/bin/sh
# After Claude Code has begun a swarm in the background: waits for its end beside the session, and wakes Claude with it.
# Exit 2 is what wakes it; everything else is silence.
input=$(head -c 262144 2>/dev/null && echo .) || exit 0
case $input in
  *"/bin/swarm start "* | *"/bin/swarm resume "*) ;;
  *)
    cat >/dev/null 2>&1
    exit 0
    ;;
esac
root=${0%/hooks/*}
# The program itself ends when we do.
said=$(printf '%s' "${input%.}" | "$root/bin/swarm" hook post-tool-use --plugin "$root" 2>/dev/null)
[ -n "$said" ] || exit 0
printf '%s\n' "$said" >&2
exit 2
