/**
 * `sh -c <this> sh <path>`: prints a regular file, or the one that a link leads to. Exits with 3 for anything else: to open a
 * pipe would block until another program opens its other end.
 */
export const readPlainFile = '[ -f "$1" ] || exit 3; exec cat -- "$1"';

/**
 * `sh -c <this>`, in the work folder: removes from `.git` what git would block on or read without end. Those are pipes and
 * sockets, and links to pipes, sockets, devices, and folders that may contain them.
 */
export const unblockGit = `find -H .git -type d ! -perm -700 -exec chmod u+rwx {} \\;
find -H .git -mindepth 1 \\( -type p -o -type s -o -type l \\( -xtype p -o -xtype s -o -xtype c -o -xtype b -o -xtype d \\) \\) -exec rm -f {} +`;
