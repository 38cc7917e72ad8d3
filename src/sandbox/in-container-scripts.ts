/** Exit codes of our own scripts, distinct from those of the programs that they call. */
export const scriptExits = { missing: 44, wrongKind: 45, forbidden: 46 } as const;

/**
 * Runs a program: `sh -c <this> sh <key> keep|forget <program> <argument>…`. Writes its process id to a file where
 * `endProgram` finds it, with `keep` afterwards its exit code. Distinguishes a missing program from one that itself exits
 * with 127.
 */
export const runProgram = `
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

/** `sh -c <this> sh <key>`: prints `running`, `exit <code>`, or nothing if the state is unknown. */
export const askProgram = `
note=$([ -f "/tmp/.aimi-$1" ] && cat "/tmp/.aimi-$1" 2>/dev/null)
case "$note" in
  exit*) echo "$note";;
  ?*) [ -e "/proc/$note" ] && echo running;;
esac
true`;

/**
 * Ends all processes of a program: `sh -c <this> sh <key>`. Finds them by descent, by session and by an inherited
 * environment variable, and repeats until none is left.
 */
export const endProgram = `
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

/** `sh -c <this> sh <path>`: prints the bytes of a plain file. */
export const readFile: string = `
[ -e "$1" ] || exit ${scriptExits.missing}
[ -f "$1" ] || exit ${scriptExits.wrongKind}
[ -r "$1" ] || exit ${scriptExits.forbidden}
exec cat -- "$1"`;

/** `sh -c <this> sh <path> <length> <unique name>`: atomically writes `length` bytes of its input; needs no end of input. */
export const writeFile: string = `
folder=$(dirname -- "$1")
mkdir -p -- "$folder" 2>/dev/null || exit ${scriptExits.forbidden}
[ -d "$1" ] && exit ${scriptExits.wrongKind}
part="$folder/.aimi-$3"
head -c "$2" >"$part" 2>/dev/null || { rm -f -- "$part"; exit ${scriptExits.forbidden}; }
[ "$(wc -c <"$part")" -eq "$2" ] || { rm -f -- "$part"; exit ${scriptExits.forbidden}; }
mv -f -- "$part" "$1"`;

/** `sh -c <this> sh <path>`: prints kind, size and name of each entry of a folder, each entry ended by a NUL. */
export const listFolder: string = `
[ -e "$1" ] || exit ${scriptExits.missing}
[ -d "$1" ] || exit ${scriptExits.wrongKind}
cd -- "$1" 2>/dev/null || exit ${scriptExits.forbidden}
for name in * .[!.]* ..?*; do
  if [ -L "$name" ]; then printf 'link\\t0\\t%s\\0' "$name"
  elif [ -d "$name" ]; then printf 'folder\\t0\\t%s\\0' "$name"
  elif [ -f "$name" ]; then printf 'file\\t%s\\t%s\\0' "$(wc -c <"$name" 2>/dev/null || echo 0)" "$name"
  elif [ -e "$name" ]; then printf 'other\\t0\\t%s\\0' "$name"
  fi
done`;

/**
 * `sh -c <this> sh <path> <maximum bytes, or nothing>`: prints a file or folder as a tar stream, with paths from its last
 * component on. Leaves out larger files and reports them in the format of `tar`: else a sparse file of a terabyte would be
 * sent whole, only to be discarded. Only GNU tar can exclude a list of files; others send them.
 */
export const packPath: string = `
[ -e "$1" ] || [ -L "$1" ] || exit ${scriptExits.missing}
cd -- "$(dirname -- "$1")" 2>/dev/null || exit ${scriptExits.forbidden}
top="./$(basename -- "$1")"
[ -d "$top" ] && [ ! -L "$top" ] && { [ -r "$top" ] && [ -x "$top" ] || exit ${scriptExits.forbidden}; }
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

/** `sh -c <this> sh <folder>`: unpacks a tar stream from its input. */
export const unpackInto: string = `
mkdir -p -- "$1" 2>/dev/null || exit ${scriptExits.forbidden}
exec tar -xf - -C "$1" --no-same-owner`;

/** `sh -c <this> sh <program>…`: prints the names of the missing ones. */
export const findMissing = `
for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 || echo "$name"; done`;
