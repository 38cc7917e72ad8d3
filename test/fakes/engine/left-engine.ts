import type { ConnectedEngine, ContainerEngine, LabelledContainer } from "../../../src/engine/engine.ts";
import { type FakeEngine, fakeEngine } from "./fake-engine.ts";

export interface LeftEngine extends FakeEngine {
  /** What was asked of it, in order. */
  readonly calls: string[];
  /** A container and the volume of its name. */
  put(
    name: string,
    labels: Readonly<Record<string, string>>,
    state?: LabelledContainer["state"],
    containerId?: string,
  ): void;
}

/** An engine on which somebody left containers and volumes, which can be removed; it counts what it is asked. */
export function leftEngine(
  options: Parameters<typeof fakeEngine>[0] & {
    /** Throws where a removal is to be refused. */
    readonly beforeRemoval?: (name: string, signal: AbortSignal | undefined) => void | Promise<void>;
  } = {},
): LeftEngine {
  const fake = fakeEngine(options);
  const calls: string[] = [];
  const counted = <Key extends "info" | "listContainers" | "volumes">(
    name: Key,
  ): Pick<ContainerEngine, Key> => {
    const ask = fake[name] as (...words: never[]) => Promise<unknown>;
    return {
      [name]: (...words: never[]) => {
        calls.push(name);
        return ask(...words);
      },
    } as unknown as Pick<ContainerEngine, Key>;
  };
  const removing = (remove: (name: string) => void) => async (name: string, signal?: AbortSignal) => {
    calls.push(`remove ${name}`);
    await options.beforeRemoval?.(name, signal);
    remove(name);
  };
  return {
    ...fake,
    ...{ ...counted("info"), ...counted("listContainers"), ...counted("volumes"), calls },
    put(name, labels, state = "exited", containerId = "a".repeat(64)) {
      fake.containers.push({ name, containerId, state, labels });
      fake.volumesByName.set(name, labels);
    },
    async open() {
      const opened = await fake.open();
      const containers: Pick<ConnectedEngine["containers"], "remove"> = {
        remove: removing((name) => {
          const at = fake.containers.findIndex((container) => container.name === name);
          if (at >= 0) fake.containers.splice(at, 1);
        }),
      };
      const volumes: Pick<ConnectedEngine["volumes"], "remove"> = {
        remove: removing((name) => void fake.volumesByName.delete(name)),
      };
      return {
        ...opened,
        containers: { ...opened.containers, ...containers },
        volumes: { ...opened.volumes, ...volumes },
      };
    },
  };
}
