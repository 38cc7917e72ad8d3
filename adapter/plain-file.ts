/**
 * `sh -c <this> sh <path>`: the bytes of a plain file, or of one that a link leads to; exits with 3 where it is none. A program that
 * opens a pipe waits until another one opens its other end.
 */
export const readPlainFile = '[ -f "$1" ] || exit 3; exec cat -- "$1"';

/**
 * `sh -c <this>`, in the work folder: takes away what git would wait for in its own folder, or read without an end. Those are pipes and
 * sockets, and links that lead to them, to a device, or to a folder in which they may be.
 */
export const unblockGit = `find -H .git -type d ! -perm -700 -exec chmod u+rwx {} \\;
find -H .git -mindepth 1 \\( -type p -o -type s -o -type l \\( -xtype p -o -xtype s -o -xtype c -o -xtype b -o -xtype d \\) \\) -exec rm -f {} +`;
