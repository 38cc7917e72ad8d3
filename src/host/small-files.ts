import type { CleanRoom } from "./clean-room.ts";

/** The contents of files by their ids; null for what is larger than that, or no file. */
export async function readSmallFiles(
  room: CleanRoom,
  ids: readonly string[],
  mostFileBytes: number,
): Promise<ReadonlyMap<string, string | null>> {
  const unique = [...new Set(ids)].filter((id) => !/^0+$/.test(id));
  const found = new Map<string, string | null>(unique.map((id) => [id, null]));
  if (unique.length === 0) return found;
  const rows = (
    await room.text(["cat-file", "--batch-check=%(objecttype) %(objectsize)"], { input: lines(unique) })
  ).split("\n");
  const small = unique.filter((_, at) => {
    const [type, size] = (rows[at] ?? "").split(" ");
    return type === "blob" && Number(size) <= mostFileBytes;
  });
  if (small.length === 0) return found;
  const { output } = await room.git(["cat-file", "--batch=%(objectsize)"], { input: lines(small) });
  // `<size>`, a line's end, the bytes, a line's end; and so on.
  let at = 0;
  for (const id of small) {
    const start = output.indexOf(10, at) + 1;
    const end = start + Number(output.toString("latin1", at, start - 1));
    found.set(id, output.toString("utf8", start, end));
    at = end + 1;
  }
  return found;
}

function lines(ids: readonly string[]): Buffer {
  return Buffer.from(`${ids.join("\n")}\n`);
}
