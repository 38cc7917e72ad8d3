// Made from schemas/doctor.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * The document that `swarm doctor --json` prints.
 */
export interface DoctorReport {
  /**
   * Whether a swarm could start here.
   */
  readonly ready: boolean;
  readonly findings: readonly Finding[];
}
export interface Finding {
  readonly subject: string;
  /**
   * The state of the subject. `missing` keeps a swarm from starting; `weak` does not.
   */
  readonly state: "good" | "weak" | "missing";
  readonly fact: string;
  /**
   * The command or action that fixes it; null when there is nothing to fix.
   */
  readonly fix: string | null;
}
