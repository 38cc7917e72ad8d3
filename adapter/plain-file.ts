/**
 * A shell script that prints the regular file at `$1`, or the regular file to which a link at `$1` leads. Exits with
 * 3 for anything else: opening a pipe would block until another program opens the other end.
 */
export const readRegularFileScript = '[ -f "$1" ] || exit 3; exec cat -- "$1"';

/**
 * A shell script that removes from `.git` everything on which git would block or which git would read without end:
 * pipes and sockets, and links to pipes, sockets, devices and folders. Runs in the work folder.
 */
export const removeBlockingGitFilesScript = `find -H .git -type d ! -perm -700 -exec chmod u+rwx {} \\;
find -H .git -mindepth 1 \\( -type p -o -type s -o -type l \\( -xtype p -o -xtype s -o -xtype c -o -xtype b -o -xtype d \\) \\) -exec rm -f {} +`;
