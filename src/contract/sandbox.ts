// Made from schemas/sandbox.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * Like `512m`, `4g`.
 */
export type SandboxSize = string;

/**
 * `sandbox.yaml`: the specification of a single sandbox. Every field is optional.
 */
export interface SandboxSpecFile {
  /**
   * The sandbox's name; without one it has only its id.
   */
  readonly name?: string;
  /**
   * `python`, `node` or `bash`, else the reference of an image.
   */
  readonly runtime?: string;
  /**
   * The sandbox's time to live: 1s to 7d.
   */
  readonly ttl?: string;
  /**
   * Globs of the files to copy in, below the current folder of the command.
   *
   * @maxItems 200
   */
  readonly inputs?: readonly string[];
  /**
   * Paths below `/outputs` that are expected to exist at the end.
   *
   * @maxItems 200
   */
  readonly outputs?: readonly string[];
  readonly resources?: SandboxResources;
  /**
   * The sandbox's network. `host` is the host's own network, and dangerous.
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
   * Whether the root filesystem is read-only.
   */
  readonly readOnlyRoot?: boolean;
  /**
   * Whether the sandbox has every right of the engine's root. Dangerous.
   */
  readonly privileged?: boolean;
  /**
   * The minimum isolation; `auto` takes the best usable one.
   */
  readonly isolation?: "auto" | "shared-kernel" | "userns" | "strong";
}
/**
 * The limits of this sandbox; an absent one has the value of the settings.
 */
export interface SandboxResources {
  readonly cpus?: number;
  readonly memory?: SandboxSize;
  readonly disk?: SandboxSize;
  readonly pids?: number;
}
/**
 * The permissions that the work is meant to have elsewhere. Recorded and shown; nothing enforces them.
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
