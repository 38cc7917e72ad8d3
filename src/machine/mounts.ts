import { readProcFile } from "./processes.ts";

/**
 * Unmounts every mount at or below a folder, the deepest first. A killed Docker daemon leaves such mounts
 * behind.
 */
export async function unmountBelow(folder: string): Promise<void> {
  const table = await readProcFile("/proc/self/mountinfo");
  const points = table
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? [])
    .map((point) =>
      point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    )
    .filter((point) => point === folder || point.startsWith(`${folder}/`));
  for (const point of points.sort((a, b) => b.length - a.length)) {
    await (await import("execa")).execa("umount", ["--lazy", point], { reject: false });
  }
}
