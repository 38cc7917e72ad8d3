// Made from schemas/config.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * Like `512m`, `4g`.
 */
export type Size = string;
/**
 * An image, like `python:3.12-slim`.
 */
export type ImageReference = string;

/**
 * `.aimi/config.json` of a project and `config.json` in the user's configuration folder. Flags and `SWARM_*` come before both. Settings marked *needs trust* count in a project's file only after `swarm trust`.
 */
export interface SettingsFile {
  readonly $schema?: string;
  /**
   * The coding agent of tasks that name none.
   */
  readonly agent?: "claude" | "acp" | "command" | "script";
  /**
   * What that agent runs: program and arguments for `acp` and `command`, the script's path below `.aimi/` for `script`.
   *
   * @minItems 1
   * @maxItems 1000
   */
  readonly agentCommand?: readonly string[];
  /**
   * Workers at once; `auto` takes what memory and CPUs allow.
   */
  readonly parallel?: number | string;
  /**
   * The least isolation that is accepted; `auto` takes the best usable one. In a project's file it can only ask for more.
   */
  readonly isolation?: "auto" | "shared-kernel" | "userns" | "strong";
  readonly limits?: LimitSettings;
  readonly images?: ImageSettings;
  /**
   * Wall clock of one worker. A project's file can only lower it.
   */
  readonly timeout?: string;
  /**
   * Checks of tasks that name none, run inside the sandbox.
   *
   * @maxItems 50
   */
  readonly verify?: readonly string[];
  /**
   * The most that one worker may cost. A project's file can only lower it.
   */
  readonly budgetUsd?: number;
  /**
   * Hosts that agents may reach, as `name:port`. Needs trust.
   *
   * @maxItems 100
   */
  readonly allow?: readonly string[];
  /**
   * The network of workers' sandboxes: `none`; `bridge`, the engine's own, unfiltered; or the name of one that the engine has. Needs trust, but for `none`.
   */
  readonly network?: string;
  /**
   * Endpoint of the container engine. Needs trust.
   */
  readonly engine?: string;
}
/**
 * Limits of each sandbox. A project's file can only lower them.
 */
export interface LimitSettings {
  readonly cpus?: number;
  readonly memory?: Size;
  readonly disk?: Size;
  readonly swap?: Size;
  readonly pids?: number;
}
/**
 * What `python`, `node` and `bash` of a sandbox.yaml mean. Needs trust.
 */
export interface ImageSettings {
  readonly python?: ImageReference;
  readonly node?: ImageReference;
  readonly bash?: ImageReference;
}
