/** A position in a file, as messages to the user name it. */
export interface SourceLocation {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly pointer?: string;
}

/** Formats a position as `file:line:column (pointer)`, which editors and terminals turn into a link. */
export function formatLocation({ file, line, column, pointer }: SourceLocation): string {
  const position = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return pointer ? `${position} (${pointer})` : position;
}
