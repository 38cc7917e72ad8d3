import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type Docker from "dockerode";
import type { Containers } from "../../../src/engine/containers.ts";

/** Everything that could tell a secret to whoever has the engine, a container of it, or the folders of its host. */
export interface Searched {
  readonly containers: Containers;
  readonly docker: Docker;
  readonly endpoint: string;
  /** Looked at from within, too, where these are to be found there. */
  readonly running: readonly { readonly id: string; readonly folders: readonly string[] }[];
  readonly images: readonly string[];
  readonly volumes: readonly string[];
  readonly folders: readonly string[];
  /** What was shown on a terminal, by who showed it. */
  readonly said: Readonly<Record<string, string>>;
}

/** The places of each secret, also where it is written in other letters. */
export async function findSecrets(
  secrets: readonly string[],
  { containers, docker, endpoint, running, images, volumes, folders, said }: Searched,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const found = new Map(secrets.map((secret) => [secret, new Set<string>()]));
  const spellings = secrets.flatMap((secret) =>
    spellingsOf(secret).map((spelling) => ({ secret, spelling })),
  );
  const look = (place: string, bytes: Buffer | string): void => {
    for (const { secret, spelling } of spellings) if (bytes.includes(spelling)) found.get(secret)?.add(place);
  };

  for (const [place, text] of Object.entries(said)) look(`said by ${place}`, text);
  const all = await docker.listContainers({ all: true });
  for (const { Id } of all)
    look(
      `inspect ${Id.slice(0, 12)}`,
      JSON.stringify(await unlessRemoved(() => docker.getContainer(Id).inspect())),
    );
  for (const { Id } of await docker.listImages({ all: true })) {
    const image = docker.getImage(Id);
    const told = await unlessRemoved(async () => [await image.inspect(), await image.history()]);
    look(`image ${Id}`, JSON.stringify(told));
  }
  const { Volumes } = await docker.listVolumes();
  look("volumes", JSON.stringify(Volumes));
  look("networks", JSON.stringify(await docker.listNetworks()));
  for (const { Name, Mountpoint } of Volumes ?? [])
    if (volumes.includes(Name)) lookBelow(Mountpoint, `volume ${Name}`, look);
  for (const folder of folders) lookBelow(folder, "", look);
  const asUsers = running.flatMap((each) =>
    (["0:0", "1000:1000"] as const).map(async (user) => {
      const words = spellings.map(({ spelling }) => spelling);
      const lines = await searchWithin(containers, { id: each.id, user, folders: each.folders }, words);
      for (const { place, spelling } of lines) look(`${each.id.slice(0, 12)} as ${user}: ${place}`, spelling);
    }),
  );
  await Promise.all(asUsers);
  if (images.length > 0) {
    await lookThrough(await saved(endpoint, images), "layers", look);
  }
  return Object.fromEntries([...found].map(([secret, places]) => [secret, [...places]]));
}

function spellingsOf(secret: string): string[] {
  // Base64 depends on what stands before; the middle of each of the three is the same whatever that is.
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.from(`${"x".repeat(shift)}${secret}`)
      .toString("base64")
      .slice(4, -4),
  );
  return [secret, ...shifted, Buffer.from(secret).toString("hex"), [...secret].reverse().join("")];
}

/** What is gone before it is looked at was somebody else's: other tests use the same engine. */
function lookBelow(folder: string, prefix: string, look: (place: string, bytes: Buffer) => void): void {
  for (const entry of unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
    const file = join(folder, entry.name);
    look(`${prefix} name`, Buffer.from(file));
    if (entry.isDirectory()) lookBelow(file, prefix, look);
    const bytes = entry.isFile() ? unlessGone(() => readFileSync(file)) : null;
    if (bytes !== null) look(`${prefix} ${file}`, bytes);
  }
}

function unlessGone<Found>(find: () => Found): Found | null {
  try {
    return find();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

/** As with files; what is in question is looked at from within as well, and would fail there. */
async function unlessRemoved<Found>(find: () => Promise<Found>): Promise<Found | null> {
  try {
    return await find();
  } catch (error) {
    if ((error as { readonly statusCode?: number }).statusCode !== 404) throw error;
    return null;
  }
}

/** What a user finds in a container's files, and in what its processes were begun with. The secrets come in by no argument. */
async function searchWithin(
  containers: Containers,
  at: { readonly id: string; readonly user: "0:0" | "1000:1000"; readonly folders: readonly string[] },
  spellings: readonly string[],
): Promise<{ readonly place: string; readonly spelling: string }[]> {
  const script = [
    "p=$(mktemp -p /tmp); cat > $p",
    // The pattern's own file, and what searches for it, are none of theirs.
    'for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do grep -aoFH -f $p "$f" 2>/dev/null; done',
    `grep -raoFH -f $p --exclude="$(basename $p)" ${at.folders.join(" ")} 2>/dev/null`,
    "rm $p; :",
  ].join("\n");
  await using execution = await containers.exec(at.id, {
    ...{ command: ["sh", "-c", script], user: at.user, input: true },
  });
  await execution.write(Buffer.from(`${spellings.join("\n")}\n`));
  await execution.endInput();
  let said = "";
  for await (const { bytes } of execution.output) said += Buffer.from(bytes).toString("latin1");
  return said.split("\n").flatMap((line) => {
    const end = line.lastIndexOf(":");
    return end < 0 ? [] : [{ place: line.slice(0, end), spelling: line.slice(end + 1) }];
  });
}

async function saved(endpoint: string, images: readonly string[]): Promise<IncomingMessage> {
  const query = new URLSearchParams(images.map((name): [string, string] => ["names", name]));
  const asked = request({ socketPath: endpoint.replace("unix://", ""), path: `/images/get?${query}` }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`the images were not saved: ${answer.statusCode}`);
  return answer;
}

/** Of bytes in pieces; a word may begin in one and end in the next. */
async function lookThrough(
  stream: Readable,
  place: string,
  look: (place: string, bytes: Buffer) => void,
): Promise<void> {
  let before = Buffer.alloc(0);
  let held: Buffer[] = [];
  let length = 0;
  const search = (): void => {
    const bytes = Buffer.concat([before, ...held]);
    look(place, bytes);
    before = bytes.subarray(-1024);
    held = [];
    length = 0;
  };
  for await (const piece of stream) {
    held.push(piece as Buffer);
    length += (piece as Buffer).length;
    if (length > 8 << 20) search();
  }
  search();
}
