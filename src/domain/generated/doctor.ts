// Made from schemas/doctor.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * What `swarm doctor --json` prints.
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
   * `missing` keeps a swarm from starting; `weak` does not.
   */
  readonly state: "good" | "weak" | "missing";
  readonly fact: string;
  /**
   * What to type or do; null when there is nothing to mend.
   */
  readonly fix: string | null;
}
