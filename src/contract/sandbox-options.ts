// Made from schemas/sandbox-options.schema.json by scripts/generate.ts. Change the schema, not this file.

export type Engine = string;
export type LibraryImage = string;
/**
 * The maximum life of a sandbox: a timer holds no more than 24 days.
 */
export type LibraryLimit = number;
export type LibraryOutputLimit = number;
export type LibraryPath = string;

/**
 * The options of the library's functions: one property, named for the called function. Signals, functions and bytes are checked separately. Options that `sandbox.yaml` has as well have the same meaning.
 */
export interface LibraryCall {
  readonly createSandbox?: {
    readonly options?: {
      readonly engine?: Engine;
      readonly image?: LibraryImage;
      readonly prefix?: string;
      readonly workdir?: string;
      readonly commandTimeoutMs?: LibraryLimit;
      readonly outputLimit?: LibraryOutputLimit;
      readonly env?: LibraryVariables;
      readonly network?: "none" | "bridge";
      readonly isolation?: "auto" | "shared-kernel" | "userns" | "strong";
      readonly limits?: {
        readonly cpus?: number;
        readonly memoryBytes?: number;
        readonly swapBytes?: number;
        readonly pids?: number;
        readonly descriptors?: number;
        readonly diskBytes?: number;
        readonly files?: number;
        readonly logBytes?: number;
        readonly programs32Bit?: boolean;
      };
      readonly readOnlyRoot?: boolean;
      readonly ttlMs?: number;
      readonly labels?: {
        [k: string]: string;
      };
    };
  };
  readonly openSandbox?: {
    readonly id: string;
    readonly options?: {
      readonly engine?: Engine;
      readonly commandTimeoutMs?: LibraryLimit;
      readonly outputLimit?: LibraryOutputLimit;
    };
  };
  readonly buildBaseImage?: {
    readonly options?: {
      readonly engine?: Engine;
      /**
       * @maxItems 100
       */
      readonly agents?: string[] | null;
    };
  };
  readonly exec?: {
    /**
     * @maxItems 100000
     */
    readonly command: readonly string[];
    readonly options?: LibraryCommand;
  };
  readonly sh?: {
    readonly script: string;
    readonly options?: LibraryCommand;
  };
  readonly readFile?: {
    readonly path: LibraryPath;
    readonly options?: {
      readonly absolute?: boolean;
      readonly maxBytes?: number;
    };
  };
  readonly writeFile?: {
    readonly path: LibraryPath;
    readonly options?: {
      readonly absolute?: boolean;
    };
  };
  readonly list?: {
    readonly path?: LibraryPath;
    readonly options?: {
      readonly absolute?: boolean;
    };
  };
  readonly copyIn?: {
    readonly from: LibraryPath;
    readonly into?: LibraryPath;
    readonly options?: {
      readonly absolute?: boolean;
    };
  };
  readonly copyOut?: {
    readonly path: LibraryPath;
    readonly into: LibraryPath;
    readonly options?: {
      readonly absolute?: boolean;
      readonly leaveOut?: boolean;
    };
  };
  readonly logs?: {
    readonly options?: {
      readonly follow?: boolean;
    };
  };
  readonly start?: {};
  readonly stats?: {};
  readonly stop?: {
    readonly options?: {
      readonly graceMs?: number;
    };
  };
  readonly commit?: {
    readonly tag: LibraryImage;
  };
}
export interface LibraryVariables {
  [k: string]: string;
}
export interface LibraryCommand {
  readonly env?: LibraryVariables;
  readonly workdir?: LibraryPath;
  readonly timeoutMs?: LibraryLimit;
  readonly outputLimit?: LibraryOutputLimit;
}
