import { randomBytes } from "node:crypto";
import type { ImageFacts, Images } from "../../../src/engine/images.ts";
import type { Networks, Volumes } from "../../../src/engine/networks.ts";
import { isContainerName } from "../../../src/engine/rules/is-container-name.ts";
import { SwarmError } from "../../../src/errors/errors.ts";

type Answer = <Result>(
  signal: AbortSignal | undefined,
  result: () => Result | Promise<Result>,
) => Promise<Result>;
type Labels = Readonly<Record<string, string>>;

function carries(found: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => found[name] === value);
}

/** Images in memory; what is built is only its labels. */
export function fakeImages(answer: Answer): Images {
  const images = new Map<string, ImageFacts & { tags: string[] }>();
  const add = (tags: readonly string[], labels: Labels): string => {
    const id = `sha256:${randomBytes(32).toString("hex")}`;
    for (const image of images.values()) image.tags = image.tags.filter((tag) => !tags.includes(tag));
    images.set(id, { id, tags: [...tags], labels, createdAt: new Date(), sizeBytes: 1 });
    return id;
  };
  const find = (reference: string) =>
    [...images.values()].find(({ id, tags }) => id === reference || tags.includes(reference));
  const drain = async (archive: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const _ of archive);
  };
  return {
    find: (reference, signal) => answer(signal, () => find(reference) ?? null),
    list: (labels, signal) =>
      answer(signal, () => [...images.values()].filter((image) => carries(image.labels, labels))),
    import: (archive, { tag, labels }, signal) =>
      answer(signal, async () => {
        await drain(archive);
        return add([tag], labels);
      }),
    build: ({ context, tags, labels }, onEvent, signal) =>
      answer(signal, async () => {
        await drain(context);
        onEvent({ kind: "done", step: "FROM fake", ms: 0, cached: false });
        return add(tags, labels);
      }),
    pull: (reference, signal) => answer(signal, () => void add([reference], {})),
    tag: (reference, tag, signal) => answer(signal, () => void find(reference)?.tags.push(tag)),
    remove: (reference, signal) =>
      answer(signal, () => {
        const image = find(reference);
        if (image) images.delete(image.id);
        return true;
      }),
  };
}

/** Networks or volumes: names with labels. */
export function fakeNames(answer: Answer): Networks & Volumes {
  const labelsByName = new Map<string, Labels>();
  const create = (name: string, labels: Labels): void => {
    if (!isContainerName(name))
      throw new SwarmError("SPEC_REFUSED", { field: `The name ${name}`, reason: "it is no name of ours" });
    labelsByName.set(name, labels);
  };
  return {
    create: ((spec: string | { name: string; labels: Labels }, second?: Labels | AbortSignal) =>
      answer(undefined, () => {
        if (typeof spec === "string") return create(spec, second as Labels);
        if (labelsByName.has(spec.name)) throw new SwarmError("NAME_TAKEN", { name: spec.name });
        create(spec.name, spec.labels);
        return spec.name;
      })) as (Networks & Volumes)["create"],
    list: (labels, signal) =>
      answer(signal, () =>
        [...labelsByName].filter(([, found]) => carries(found, labels)).map(([name]) => name),
      ),
    names: (signal) => answer(signal, () => [...labelsByName.keys()]),
    subnets: (signal) => answer(signal, () => []),
    connect: (_name, _container, _address, signal) => answer(signal, () => {}),
    remove: (name, signal) => answer(signal, () => void labelsByName.delete(name)),
  };
}
