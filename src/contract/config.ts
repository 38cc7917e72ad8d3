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
 * A reference to a secret: `env:NAME`, `file:/path` or `cmd:program arguments`. Never the secret itself.
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
   * The command of that agent: program and arguments for `acp` and `command`, the script's path below `.aimi/` for `script`.
   *
   * @minItems 1
   * @maxItems 1000
   */
  readonly agentCommand?: readonly string[];
  /**
   * The maximum number of concurrent workers; `auto` derives it from memory and CPUs of the engine's host.
   */
  readonly parallel?: number | string;
  /**
   * The minimum isolation; `auto` takes the best usable one. A project's file can only raise it.
   */
  readonly isolation?: "auto" | "shared-kernel" | "userns" | "strong";
  readonly limits?: LimitSettings;
  readonly work?: WorkSettings;
  readonly images?: ImageSettings;
  /**
   * The maximum wall-clock time of one worker. A project's file can only lower it.
   */
  readonly timeout?: string;
  /**
   * The checks of tasks that name none. They run inside the sandbox.
   *
   * @maxItems 50
   */
  readonly verify?: readonly string[];
  /**
   * Whether each result is checked again in a fresh sandbox before it counts.
   */
  readonly prove?: boolean;
  /**
   * Changes for later attempts: `model=NAME` for the second one, the next entry for the third, and so on; the last entry holds for all further ones.
   *
   * @maxItems 20
   */
  readonly escalate?: readonly string[];
  /**
   * The maximum cost of one worker. A project's file can only lower it.
   */
  readonly budgetUsd?: number;
  /**
   * The maximum number of tokens that one worker may spend. A project's file can only lower it.
   */
  readonly budgetTokens?: number;
  /**
   * The maximum cost of a whole swarm. A project's file can only lower it.
   */
  readonly swarmBudgetUsd?: number;
  /**
   * The maximum number of tokens that a whole swarm may spend. A project's file can only lower it.
   */
  readonly swarmBudgetTokens?: number;
  /**
   * The maximum wall-clock time of a whole swarm. A project's file can only lower it.
   */
  readonly swarmBudgetTime?: string;
  /**
   * Hosts that agents may reach beside their models: `name:port`, or a preset like `npm`. Needs trust.
   *
   * @maxItems 100
   */
  readonly allow?: readonly string[];
  /**
   * Additional model endpoints, or other URLs of known ones: `name=url[,header=Name:reference][,api=anthropic|openai|google][,pass=Name]`. Needs trust.
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
   * Prices of models, which override the shipped ones. Needs trust.
   *
   * @maxItems 500
   */
  readonly prices?: readonly PriceSetting[];
  /**
   * The network of workers' sandboxes: `gateway`, for agents that call a model or have allowed hosts, and none for the others; `none`; `bridge`, the engine's own, unfiltered; or the name of an existing network. A project's file can only narrow it.
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
   * Whether 32-bit programs may open sockets by the older system call, whose arguments no filter can inspect: it allows sockets of every family.
   */
  readonly programs32Bit?: boolean;
}
/**
 * Limits on the files that a task may commit in addition to its base. A project's file can only lower them.
 */
export interface WorkSettings {
  readonly files?: number;
  readonly size?: Size;
  readonly fileSize?: Size;
}
/**
 * The images for `python`, `node` and `bash` in a sandbox.yaml. Needs trust.
 */
export interface ImageSettings {
  readonly python?: ImageReference;
  readonly node?: ImageReference;
  readonly bash?: ImageReference;
}
/**
 * References to the credentials of each company's models; by default swarm reads them from the environment. Needs trust.
 */
export interface CredentialReferences {
  readonly anthropic?: SecretReference;
  readonly openai?: SecretReference;
  readonly google?: SecretReference;
}
/**
 * The price of a million tokens, in US dollars, for every model whose name begins with this prefix; the longest matching prefix counts.
 */
export interface PriceSetting {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}
