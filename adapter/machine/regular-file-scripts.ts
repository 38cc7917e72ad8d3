/**
 * A shell script that prints the file at `$1` if it is a regular file or a symlink to one. Otherwise exits
 * with 3: if the file is a pipe, opening it could block forever.
 */
export const readRegularFileScript = '[ -f "$1" ] || exit 3; exec cat -- "$1"';

/**
 * A shell script that removes files from `.git` on which git could hang: pipes, sockets, and symlinks to
 * pipes, sockets, devices and folders. Runs in the work folder.
 */
export const removeBlockingGitFilesScript = `find -H .git -type d ! -perm -700 -exec chmod u+rwx {} \\;
find -H .git -mindepth 1 \\( -type p -o -type s -o -type l \\( -xtype p -o -xtype s -o -xtype c -o -xtype b -o -xtype d \\) \\) -exec rm -f {} +`;
