import type { ContainerRecord, SwarmState } from "../domain/swarm-state.ts";

/**
 * The text of a state file, a line for each container. Records never change in place, so the text of each is made once: with a thousand workers a
 * change of one costs about what it costs with sixteen.
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
