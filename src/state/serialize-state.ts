import type { ContainerRecord, SwarmState } from "../domain/swarm-state.ts";

/**
 * Creates a serializer of states, which writes one line per container. The serializer caches the text of each
 * container record, because records never change. So the cost of one change hardly depends on the number of
 * workers.
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
