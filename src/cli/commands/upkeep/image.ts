import type { ImageBuildEvent } from "../../../engine/images.ts";
import { formatBytes, formatDuration } from "../../../text/duration-and-size.ts";
import { formatCount } from "../../../text/format-count.ts";
import { type CommandHandler, type CommandOptions, textOption } from "../../flags/command.ts";
import { alignTable } from "../../render/table.ts";

export const imageBuildCommand: CommandHandler = async ({ project, output, signal }, _args, options) => {
  const images = await project.images();
  const words = { ...wordsOf(options), baseOnly: options["base"] === true, fresh: options["fresh"] === true };
  const built = await output.during("Building images", (onStep) =>
    images.build(
      words,
      {
        onStep,
        onEvent(event) {
          const line = lineOf(event);
          // Leaves out the internal steps of the builder.
          if (line !== "" && !/ copy \/context /.test(line)) onStep(line);
        },
      },
      signal,
    ),
  );
  for (const warning of built.project?.warnings ?? []) output.note(`! ${warning}`);
  output.result(built, () =>
    alignTable(
      [built.base, built.project ?? []]
        .flat()
        .map((image) => [
          image.tag,
          image.id.replace("sha256:", "").slice(0, 12),
          image.built ? "built" : "up to date, not built",
        ]),
    ),
  );
  output.next(built.project ? "`swarm image explain`" : "`swarm sandbox up`");
};

export const imageLsCommand: CommandHandler = async ({ project, output, signal }) => {
  const found = await (await project.images()).list(signal);
  output.result(found, () =>
    found.length === 0
      ? []
      : alignTable([
          ["IMAGE", "KIND", "CREATED", "SIZE", "COMMIT"],
          ...found.map(({ tags, id, role, createdAt, sizeBytes, commit }) => [
            tags.join(" ") || id.slice(7, 19),
            role.replace("-image", ""),
            createdAt.toISOString().slice(0, 16),
            formatBytes(sizeBytes),
            commit?.slice(0, 12) ?? "-",
          ]),
        ]),
  );
  if (found.length === 0) output.next("`swarm image build`");
};

export const imagePruneCommand: CommandHandler = async ({ project, output, signal }, _args, options) => {
  const dryRun = options["dryRun"] === true;
  const removed = await (await project.images()).prune({ all: options["all"] === true, dryRun }, signal);
  output.result(removed, () => removed.map(({ tags, id }) => tags.join(" ") || id.slice(7, 19)));
  output.note(`${formatCount(removed.length, "image")} ${dryRun ? "would be removed" : "removed"}`);
};

export const imageExplainCommand: CommandHandler = async ({ project, output, signal }, _args, options) => {
  const explained = await (await project.images()).explain(wordsOf(options), signal);
  output.result(explained, () =>
    explained.flatMap(({ image, state, inputs, changes }) => {
      const kindByInput = new Map(changes.map(({ input, kind }) => [input, kind]));
      const rows = Object.entries(inputs)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([input, value]) => ["  ", input, short(value), kindByInput.get(input) ?? ""]);
      const removed = changes
        .filter(({ kind }) => kind === "removed")
        .map(({ input }) => ["  ", input, "-", "removed"]);
      return [`${image}: ${state}`, ...alignTable([...rows, ...removed])];
    }),
  );
  for (const warning of explained.flatMap(({ warnings }) => warnings)) output.note(`! ${warning}`);
  output.next("`swarm image build`");
};

function wordsOf(options: CommandOptions): {
  agents: string[] | null;
  ignoreScripts: boolean;
  buildNetwork: boolean;
} {
  const agents = textOption(options, "agents");
  return {
    agents: agents?.split(",").filter((name) => name !== "" && name !== "none") ?? null,
    ignoreScripts: options["ignoreScripts"] === true,
    buildNetwork: options["buildNetwork"] !== false,
  };
}

function lineOf(event: ImageBuildEvent): string {
  switch (event.kind) {
    case "started":
      return `… ${shortStep(event.step)}`;
    case "done":
      return `${event.cached ? "kept" : "done"} ${shortStep(event.step)}${event.cached ? "" : ` (${formatDuration(event.ms)})`}`;
    case "output":
      return event.text.trimEnd().split("\n").at(-1) ?? "";
  }
}

function shortStep(step: string): string {
  const line = step.replace(/\s+/g, " ");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

/** Shortens a checksum to twelve characters. Returns any other text unchanged. */
function short(value: string): string {
  return /^(sha256:)?[0-9a-f]{40,}$/.test(value) ? value.replace("sha256:", "").slice(0, 12) : value;
}
