// Made from schemas/sandbox.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * Like `512m`, `4g`.
 */
export type SandboxSize = string;

/**
 * `sandbox.yaml`: what a single sandbox is made of. Every field may be left out.
 */
export interface SandboxSpecFile {
  /**
   * What people call the sandbox; without one it has only its id.
   */
  readonly name?: string;
  /**
   * `python`, `node` or `bash`, else the reference of an image.
   */
  readonly runtime?: string;
  /**
   * How long the sandbox may live: 1s to 7d.
   */
  readonly ttl?: string;
  /**
   * Globs of the files that are copied in, below the folder that the command was started in.
   *
   * @maxItems 200
   */
  readonly inputs?: readonly string[];
  /**
   * Paths below `/outputs` that are expected to exist in the end.
   *
   * @maxItems 200
   */
  readonly outputs?: readonly string[];
  readonly resources?: SandboxResources;
  /**
   * What the sandbox can reach. `host` is the host's own network, and dangerous.
   */
  readonly network?: "none" | "bridge" | "host";
  /**
   * Variables of every command in the sandbox.
   */
  readonly env?: {
    [k: string]: string | number | boolean;
  };
  readonly permissions?: SandboxPermissions;
  /**
   * Whether the root filesystem cannot be written to.
   */
  readonly readOnlyRoot?: boolean;
  /**
   * Whether the sandbox has every right of the engine's root. Dangerous.
   */
  readonly privileged?: boolean;
  /**
   * The least isolation that is accepted; `auto` takes the best usable one.
   */
  readonly isolation?: "auto" | "shared-kernel" | "userns" | "strong";
}
/**
 * Limits of this sandbox; the settings decide what is left out.
 */
export interface SandboxResources {
  readonly cpus?: number;
  readonly memory?: SandboxSize;
  readonly disk?: SandboxSize;
  readonly pids?: number;
}
/**
 * What the work is meant to be allowed elsewhere. Recorded and shown; nothing enforces it.
 */
export interface SandboxPermissions {
  readonly aws?: AwsPermissions;
}
export interface AwsPermissions {
  /**
   * The ARN of an IAM role.
   */
  readonly role?: string;
  /**
   * Services, like `s3`, or single actions, like `s3:GetObject`.
   *
   * @maxItems 100
   */
  readonly services?: readonly string[];
}
