#!/bin/sh
# A hook as they are usually written: anchored regular expressions over the command, quotes taken off. It is here to show what it lets through.
program=$1
command=$(node -e 'process.stdout.write(JSON.parse(require("fs").readFileSync(0, "utf8")).tool_input.command)')
printf '%s\n' "$command" | grep -qE "^\"?$program\"? (status|plan|start|resume|retry|stop|wait|logs|events|diff|summary|cleanup|doctor)( [^;&|]*)?\$" || exit 0
echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
