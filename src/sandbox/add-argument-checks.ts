import type { LibraryCall } from "../contract/sandbox-options.ts";
import type { Sandbox } from "./sandbox.ts";

/** Throws if the arguments of a call to the library are invalid. */
export type ArgumentCheck = (
  name: keyof Sandbox & keyof LibraryCall,
  said: Readonly<Record<string, unknown>>,
) => Promise<void>;

/**
 * Wraps a sandbox so that each method validates its arguments first. A missing required argument counts as
 * null, which is never valid.
 */
export function addArgumentChecks(sandbox: Sandbox, check: ArgumentCheck): Sandbox {
  return {
    ...sandbox,

    async start(signal) {
      await check("start", { signal });
      return sandbox.start(signal);
    },

    async stop(options) {
      await check("stop", { options });
      return sandbox.stop(options);
    },

    async exec(command, options) {
      await check("exec", { command: command ?? null, options });
      return sandbox.exec(command, options);
    },

    async sh(script, options) {
      await check("sh", { script: script ?? null, options });
      return sandbox.sh(script, options);
    },

    async readFile(path, options) {
      await check("readFile", { path: path ?? null, options });
      return sandbox.readFile(path, options);
    },

    async writeFile(path, content, options) {
      await check("writeFile", { path: path ?? null, content: content ?? null, options });
      return sandbox.writeFile(path, content, options);
    },

    async list(path, options) {
      await check("list", { path, options });
      return sandbox.list(path, options);
    },

    async copyIn(from, into, options) {
      await check("copyIn", { from: from ?? null, into, options });
      return sandbox.copyIn(from, into, options);
    },

    async copyOut(path, into, options) {
      await check("copyOut", { path: path ?? null, into: into ?? null, options });
      return sandbox.copyOut(path, into, options);
    },

    async *logs(options) {
      await check("logs", { options });
      yield* sandbox.logs(options);
    },

    async stats(signal) {
      await check("stats", { signal });
      return sandbox.stats(signal);
    },

    async commit(tag, signal) {
      await check("commit", { tag: tag ?? null, signal });
      return sandbox.commit(tag, signal);
    },
  };
}
