import { type EntryToPack, packFiles } from "../../../src/archive/pack-files.ts";
import { unpackArchive } from "../../../src/archive/unpack-archive.ts";

/** Unpacks many entries below one long path, and prints what is told of them. Started with the heap that it may use. */
const [into = "", part = "", depth = "0", count = "0", kind = "file"] = process.argv.slice(2);
const above = `${part}/`.repeat(Number(depth));

function* entries(): Generator<EntryToPack> {
  const owner = { mode: 0o644, uid: 0, gid: 0 };
  yield { ...owner, kind: "file", path: "good.txt", content: Buffer.from("good") };
  for (let number = 0; number < Number(count); number += 1)
    yield kind === "folder"
      ? { ...owner, kind, path: `${above}${number}` }
      : { ...owner, kind: "file", path: `${above}${number}`, content: new Uint8Array() };
}

const limits = { entries: 1_000_000, bytes: 1024 ** 3, nameBytes: 4096 };
const { files, bytes, leftOut, more } = await unpackArchive(packFiles(entries()), {
  ...{ into, limits, leaveOut: true },
});
console.log(JSON.stringify({ listed: files.length, bytes, leftOut, more }));
