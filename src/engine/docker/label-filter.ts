type Labels = Readonly<Record<string, string>>;

/** Returns the engine's filter for objects with all these labels. */
export function labelFilter(labels: Labels): string {
  return JSON.stringify({ label: assignments(labels) });
}

/** Writes labels or variables as the engine expects them in a list: `name=value`. */
export function assignments(values: Labels): string[] {
  return Object.entries(values).map(([name, value]) => `${name}=${value}`);
}

/** Returns the Dockerfile instructions that set labels of an image. */
export function labelInstructions(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `LABEL "${name}"=${JSON.stringify(value)}`);
}
