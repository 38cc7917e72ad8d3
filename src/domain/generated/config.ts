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
 * Where a secret is: `env:NAME`, `file:/path` or `cmd:program arguments`. Never the secret itself.
 */
export type SecretReference = string;

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
  readonly work?: WorkSettings;
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
   * Whether each result is checked again in a fresh sandbox before it counts.
   */
  readonly prove?: boolean;
  /**
   * What later attempts change: `model=NAME` for the second one, the next for the third, and so on; the last one holds for all after it.
   *
   * @maxItems 20
   */
  readonly escalate?: readonly string[];
  /**
   * The most that one worker may cost. A project's file can only lower it.
   */
  readonly budgetUsd?: number;
  /**
   * The most tokens that one worker may spend. A project's file can only lower it.
   */
  readonly budgetTokens?: number;
  /**
   * The most that a whole swarm may cost. A project's file can only lower it.
   */
  readonly swarmBudgetUsd?: number;
  /**
   * The most tokens that a whole swarm may spend. A project's file can only lower it.
   */
  readonly swarmBudgetTokens?: number;
  /**
   * Wall clock of a whole swarm. A project's file can only lower it.
   */
  readonly swarmBudgetTime?: string;
  /**
   * What agents may reach beside their models: `name:port`, or a preset like `npm`. Needs trust.
   *
   * @maxItems 100
   */
  readonly allow?: readonly string[];
  /**
   * More models, or other addresses of known ones: `name=url[,header=Name:reference][,api=anthropic|openai|google][,pass=Name]`. Needs trust.
   *
   * @maxItems 50
   */
  readonly modelEndpoints?: readonly string[];
  /**
   * Private registries behind the mirrors of presets: `preset=url[,header=Name:reference]`. Needs trust.
   *
   * @maxItems 50
   */
  readonly registries?: readonly string[];
  readonly credentials?: CredentialReferences;
  /**
   * Prices of models, before those that are shipped. Needs trust.
   *
   * @maxItems 500
   */
  readonly prices?: readonly PriceSetting[];
  /**
   * The network of workers' sandboxes: `gateway`, for agents that call a model or were allowed something, and none for the others; `none`; `bridge`, the engine's own, unfiltered; or the name of one that the engine has. In a project's file it can only be narrower.
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
  /**
   * Whether 32-bit programs may open sockets by the older call, which no filter can look into: sockets of every family are then open.
   */
  readonly programs32Bit?: boolean;
}
/**
 * How much a task may commit beyond what it starts from. A project's file can only lower it.
 */
export interface WorkSettings {
  readonly files?: number;
  readonly size?: Size;
  readonly fileSize?: Size;
}
/**
 * What `python`, `node` and `bash` of a sandbox.yaml mean. Needs trust.
 */
export interface ImageSettings {
  readonly python?: ImageReference;
  readonly node?: ImageReference;
  readonly bash?: ImageReference;
}
/**
 * Where the credentials of a company's models are; without, the environment has them. Needs trust.
 */
export interface CredentialReferences {
  readonly anthropic?: SecretReference;
  readonly openai?: SecretReference;
  readonly google?: SecretReference;
}
/**
 * US dollars for a million tokens of every model whose name begins like this; the longest beginning counts.
 */
export interface PriceSetting {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}
