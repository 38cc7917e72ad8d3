import type { ContainerRecord, SwarmState } from "../domain/swarm-state.ts";

/**
 * Serializes a state, one line per container. Records are immutable, so it caches the text of each: with a
 * thousand workers, changing one costs about as much as with sixteen.
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
