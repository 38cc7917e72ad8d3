type Step =
  | { readonly kind: "character"; readonly character: string }
  | {
      readonly kind: "one of";
      readonly ranges: readonly (readonly [string, string])[];
      readonly not: boolean;
    }
  | { readonly kind: "any" | "star" | "enter folders" | "in folders" | "rest" };

/**
 * Compiles a path pattern with `*`, `?`, `[a-z]` and `**`, by Docker's rules, into a function that tests
 * paths. Uses no regular expression, because an untrusted pattern could make it exponentially slow.
 */
export function compilePathPattern(pattern: string): (path: string) => boolean {
  const steps = readSteps([...pattern]);
  const leastLength = steps.filter(({ kind }) => ["character", "one of", "any"].includes(kind)).length;
  return (path) => {
    if (path.length < leastLength) return false;
    let states = reached(steps, [0]);
    for (const character of path) {
      states = reached(
        steps,
        states.flatMap((state) => nextStates(steps[state], state, character)),
      );
      if (states.length === 0) return false;
    }
    return states.includes(steps.length);
  };
}

function readSteps(characters: readonly string[]): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "*" && characters[at + 1] === "*") {
      at += characters[at + 2] === "/" ? 2 : 1;
      // Several `**/` in a row mean the same as one.
      if (at + 1 < characters.length && steps.at(-1)?.kind === "in folders") continue;
      if (at + 1 < characters.length) steps.push({ kind: "enter folders" }, { kind: "in folders" });
      else steps.push({ kind: "rest" });
    } else if (character === "*") steps.push({ kind: "star" });
    else if (character === "?") steps.push({ kind: "any" });
    else if (character === "[" && characters.indexOf("]", at + 2) > 0) {
      const end = characters.indexOf("]", at + 2);
      steps.push(readClass(characters.slice(at + 1, end)));
      at = end;
    } else if (character === "\\" && at + 1 < characters.length) {
      at += 1;
      steps.push({ kind: "character", character: characters[at] ?? "" });
    } else steps.push({ kind: "character", character });
  }
  return steps;
}

function readClass(characters: readonly string[]): Step {
  const not = characters[0] === "^";
  const members = not ? characters.slice(1) : characters;
  const ranges: [string, string][] = [];
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at] ?? "";
    const to = members[at + 1] === "-" ? members[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { kind: "one of", ranges, not };
}

/**
 * Returns the given states of the pattern matcher, and every state that it can reach from them without
 * reading a character.
 */
function reached(steps: readonly Step[], states: readonly number[]): number[] {
  const all = new Set<number>();
  const add = (state: number): void => {
    if (all.has(state)) return;
    all.add(state);
    const kind = steps[state]?.kind;
    if (kind === "star" || kind === "rest") add(state + 1);
    if (kind === "enter folders") {
      add(state + 1);
      add(state + 2);
    }
  };
  states.forEach(add);
  return [...all];
}

function nextStates(step: Step | undefined, state: number, character: string): number[] {
  if (step === undefined) return [];
  switch (step.kind) {
    case "character":
      return character === step.character ? [state + 1] : [];
    case "one of": {
      const isIn = step.ranges.some(([from, to]) => from <= character && character <= to);
      return character !== "/" && isIn !== step.not ? [state + 1] : [];
    }
    case "any":
      return character === "/" ? [] : [state + 1];
    case "star":
      return character === "/" ? [] : [state];
    case "enter folders":
      return [];
    case "in folders":
      return character === "/" ? [state, state + 1] : [state];
    case "rest":
      return [state];
  }
}
