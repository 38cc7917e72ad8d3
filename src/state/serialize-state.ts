import type { ContainerRecord, SwarmState } from "./rules/swarm-state.ts";

/**
 * Creates a function that serializes a swarm's state, with each worker's record on a line of its own. The
 * function caches the text of each record object, because these objects never change, so that a change of one
 * record costs little even with many workers.
 */
export function stateSerializer(): (state: SwarmState) => string {
  const textByRecord = new WeakMap<ContainerRecord, string>();
  const textOf = (record: ContainerRecord): string => {
    const known = textByRecord.get(record);
    if (known !== undefined) return known;
    const text = `    ${JSON.stringify(record)}`;
    textByRecord.set(record, text);
    return text;
  };
  return ({ containers, ...head }) => {
    const opening = JSON.stringify(head, null, 2).slice(0, -"\n}".length);
    const records = containers.length > 0 ? `[\n${containers.map(textOf).join(",\n")}\n  ]` : "[]";
    return `${opening},\n  "containers": ${records}\n}\n`;
  };
}
