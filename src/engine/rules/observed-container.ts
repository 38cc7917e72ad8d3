/** What the engine reports about the container whose name is in a worker's record. */
export type ObservedContainer =
  | { readonly kind: "missing" /** Whether the worker's journal still exists. */; readonly volume: boolean }
  | {
      readonly kind: "created" | "running" | "paused" | "restarting" | "removing" | "dead" | "exited";
      readonly containerId: string;
      /** Whether the container's labels say that swarm created the container for this worker. */
      readonly labelsAgree: boolean;
    };
