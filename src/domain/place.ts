/** A position in a file, for messages. */
export interface SourceLocation {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly pointer?: string;
}

/** `file:line:column (pointer)`, as editors and terminals link it. */
export function showLocation({ file, line, column, pointer }: SourceLocation): string {
  const position = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return pointer ? `${position} (${pointer})` : position;
}
