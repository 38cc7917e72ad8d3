/** A position in a file, for messages. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly pointer?: string;
}

/** `file:line:column (pointer)`, as editors and terminals link it. */
export function showPlace({ file, line, column, pointer }: Place): string {
  const position = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return pointer ? `${position} (${pointer})` : position;
}
