/** Returns the command that runs a shell script with arguments. */
export function shellCommand(script: string, ...args: readonly string[]): string[] {
  return ["sh", "-c", script, "sh", ...args];
}

/**
 * The exit codes by which the scripts in this file report their own errors. The programs that the scripts
 * call do not normally exit with these codes.
 */
export const scriptExitCodes = { missing: 44, wrongKind: 45, forbidden: 46 } as const;

/**
 * A shell script that runs a program: `sh -c <script> sh <key> keep
 * forget <program> <argument>…`.
 * While the program runs, a file contains the script's process ID for `killCommandScript`. With `keep`, the
 * file afterwards contains the exit code. If the program does not exist, the script prints a message, because
 * exit code 127 alone can also come from the program.
 */
export const runCommandScript = `
key=$1; keep=$2; shift 2
note="/tmp/.aimi-$key"
echo $$ >"$note" 2>/dev/null
problem=
case "$1" in
  */*) if [ ! -e "$1" ]; then problem=found; elif [ ! -f "$1" ] || [ ! -x "$1" ]; then problem=executable; fi;;
  *) command -v -- "$1" >/dev/null 2>&1 || problem=found;;
esac
if [ -n "$problem" ]; then
  rm -f -- "$note"
  echo "aimi-$key: not $problem" >&2
  [ "$problem" = executable ] && exit 126
  exit 127
fi
"$@"
code=$?
# The program may have replaced the file by a pipe, where a writer would wait for a reader.
rm -rf -- "$note"
[ "$keep" = keep ] && { set -C; echo "exit $code" >"$note"; } 2>/dev/null
exit $code`;

/**
 * A shell script that prints the state of a program that `runCommandScript` started: `sh -c <script> sh
 * <key>`. The output is `running`, or `exit <code>`, or empty if the state is unknown.
 */
export const commandStateScript = `
note=$([ -f "/tmp/.aimi-$1" ] && cat "/tmp/.aimi-$1" 2>/dev/null)
case "$note" in
  exit*) echo "$note";;
  ?*) [ -e "/proc/$note" ] && echo running;;
esac
true`;

/**
 * A shell script that kills all processes of a program that `runCommandScript` started: `sh -c <script> sh
 * <key>`. It finds the processes by parent process, session and an inherited environment variable. It repeats
 * the search, at most 20 times, until no process is left.
 */
export const killCommandScript = `
key=$1
first=$([ -f "/tmp/.aimi-$key" ] && cat "/tmp/.aimi-$key" 2>/dev/null)
rounds=0
while [ $rounds -lt 20 ]; do
  rounds=$((rounds + 1))
  found=" $first "
  grown=yes
  while [ $grown = yes ]; do
    grown=no
    for folder in /proc/[0-9]*; do
      pid=\${folder#/proc/}
      case "$found" in *" $pid "*) continue;; esac
      [ "$pid" = $$ ] || [ "$pid" = 1 ] && continue
      read -r line 2>/dev/null <"$folder/stat" || continue
      set -- \${line##*) }
      [ "$1" = Z ] && continue
      ours=no
      [ -n "$first" ] && [ "$4" = "$first" ] && ours=yes
      case "$found" in *" $2 "*) [ -n "$2" ] && ours=yes;; esac
      [ $ours = no ] && grep -qa "AIMI_EXEC=$key" "$folder/environ" 2>/dev/null && ours=yes
      [ $ours = yes ] && { found="$found$pid "; grown=yes; }
    done
  done
  left=no
  for pid in $found; do
    read -r line 2>/dev/null <"/proc/$pid/stat" || continue
    set -- \${line##*) }
    [ "$1" = Z ] && continue
    kill -KILL "$pid" 2>/dev/null && left=yes
  done
  [ $left = no ] && break
done
rm -f -- "/tmp/.aimi-$key"
[ $left = no ]`;

/** A shell script that prints the content of a regular file: `sh -c <script> sh <path>`. */
export const readFileScript: string = `
[ -e "$1" ] || exit ${scriptExitCodes.missing}
[ -f "$1" ] || exit ${scriptExitCodes.wrongKind}
[ -r "$1" ] || exit ${scriptExitCodes.forbidden}
exec cat -- "$1"`;

/**
 * A shell script that writes a file atomically: `sh -c <script> sh <path> <length> <unique name>`. It reads
 * exactly `length` bytes from stdin and does not wait for end-of-file.
 */
export const writeFileScript: string = `
folder=$(dirname -- "$1")
mkdir -p -- "$folder" 2>/dev/null || exit ${scriptExitCodes.forbidden}
[ -d "$1" ] && exit ${scriptExitCodes.wrongKind}
part="$folder/.aimi-$3"
head -c "$2" >"$part" 2>/dev/null || { rm -f -- "$part"; exit ${scriptExitCodes.forbidden}; }
[ "$(wc -c <"$part")" -eq "$2" ] || { rm -f -- "$part"; exit ${scriptExitCodes.forbidden}; }
mv -f -- "$part" "$1"`;

/**
 * A shell script that lists a folder: `sh -c <script> sh <path>`. For each entry, it prints the kind, the
 * size and the name, and then a NUL byte.
 */
export const listFolderScript: string = `
[ -e "$1" ] || exit ${scriptExitCodes.missing}
[ -d "$1" ] || exit ${scriptExitCodes.wrongKind}
cd -- "$1" 2>/dev/null || exit ${scriptExitCodes.forbidden}
for name in * .[!.]* ..?*; do
  if [ -L "$name" ]; then printf 'link\\t0\\t%s\\0' "$name"
  elif [ -d "$name" ]; then printf 'folder\\t0\\t%s\\0' "$name"
  elif [ -f "$name" ]; then printf 'file\\t%s\\t%s\\0' "$(wc -c <"$name" 2>/dev/null || echo 0)" "$name"
  elif [ -e "$name" ]; then printf 'other\\t0\\t%s\\0' "$name"
  fi
done`;

/**
 * A shell script that prints a file or a folder as a tar stream: `sh -c <script> sh <path> <maximum bytes, or
 * nothing>`. The paths in the stream begin with the last component of `path`.
 * With GNU tar, the script skips files larger than the maximum, such as sparse files of a terabyte, and
 * reports each of them like an error of `tar`. Other versions of `tar` cannot skip a list of files, so the
 * stream then contains all files.
 */
export const packPathScript: string = `
[ -e "$1" ] || [ -L "$1" ] || exit ${scriptExitCodes.missing}
cd -- "$(dirname -- "$1")" 2>/dev/null || exit ${scriptExitCodes.forbidden}
top="./$(basename -- "$1")"
[ -d "$top" ] && [ ! -L "$top" ] && { [ -r "$top" ] && [ -x "$top" ] || exit ${scriptExitCodes.forbidden}; }
export LC_ALL=C
newline='
'
case "$2$(tar --version 2>/dev/null | head -n 1)" in
  [0-9]*GNU*)
    find "$top" -type f -size "+$2c" ! -path "*$newline*" 2>/dev/null | while IFS= read -r name; do
      printf 'tar: %s: it is larger than %s bytes\\n' "$name" "$2" >&2
      printf '%s\\n' "$name"
    done | sed 's/[][*?\\\\]/\\\\&/g' | tar -X - -cf - -- "$top";;
  *) exec tar -cf - -- "$top";;
esac`;

/** A shell script that unpacks a tar stream from stdin into a folder: `sh -c <script> sh <folder>`. */
export const unpackScript: string = `
mkdir -p -- "$1" 2>/dev/null || exit ${scriptExitCodes.forbidden}
exec tar -xf - -C "$1" --no-same-owner`;

/**
 * A shell script that prints those of the given programs that do not exist: `sh -c <script> sh <program>…`.
 */
export const findMissingProgramsScript = `
for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 || echo "$name"; done`;
