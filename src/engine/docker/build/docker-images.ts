import { Readable } from "node:stream";
import type Docker from "dockerode";
import { isError, SwarmError } from "../../../errors/errors.ts";
import type { ImageFacts, Images } from "../../images.ts";
import type { DockerContainersDeps } from "../docker-containers.ts";
import { abortSignalOption } from "../dockerode-client.ts";
import { refuseInvalidImage } from "../require-safe-names.ts";
import { engineErrorMessage, translateEngineFailure } from "../translate-failure.ts";
import { readBuildStream } from "./build-stream.ts";
import { splitImageTag } from "./split-tag.ts";

/** The time limit of an image pull in milliseconds, long enough for gigabytes over a slow connection. */
const pullMs = 3_600_000;

/** Creates the operations on the images of a Docker-compatible engine. */
export function dockerImages({ docker, endpoint, call }: DockerContainersDeps): Images {
  const find = (reference: string, signal?: AbortSignal): Promise<ImageFacts | null> =>
    call({ operation: `look for the image ${reference}`, signal }, async () => {
      try {
        const { Id, RepoTags, Config, Created, Size } = await docker.getImage(reference).inspect();
        return {
          id: Id,
          tags: RepoTags ?? [],
          labels: Config?.Labels ?? {},
          createdAt: new Date(Created),
          sizeBytes: Size,
        };
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode === 404) return null;
        throw error;
      }
    });

  return {
    find,

    async list(labels, signal) {
      const filters = { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
      const found = await call({ operation: "list images", signal }, (ending) =>
        docker.listImages({ filters: JSON.stringify(filters), ...abortSignalOption(ending) }),
      );
      return found.map(({ Id, RepoTags, Labels, Created, Size }) => ({
        id: Id,
        tags: (RepoTags ?? []).filter((tag) => tag !== "<none>:<none>"),
        labels: Labels ?? {},
        createdAt: new Date(Created * 1000),
        sizeBytes: Size,
      }));
    },

    async import(archive, { tag, labels }, signal) {
      const [repo, name] = splitImageTag(tag);
      const changes = Object.entries(labels).map(
        ([label, value]) => `LABEL "${label}"=${JSON.stringify(value)}`,
      );
      const answer = upload(docker, {
        path: "/images/create?",
        options: { fromSrc: "-", repo, tag: name, changes },
        body: archive,
        operation: "import an image",
        signal,
      });
      const text = await textOf(answer);
      const problem = /"error":\s*"([^"]*)"/.exec(text)?.[1];
      if (problem) throw new SwarmError("ENGINE_FAILED", { operation: "import an image", reason: problem });
      const made = await find(tag, signal);
      if (!made)
        throw new SwarmError("ENGINE_FAILED", {
          operation: "import an image",
          reason: "the engine does not have the image after the import",
        });
      return made.id;
    },

    async build({ context, tags, labels, args, builder, network, fresh }, onEvent, signal) {
      tags.forEach(refuseInvalidImage);
      const [image = "an image"] = tags;
      const answer = upload(docker, {
        path: "/build?",
        options: {
          // Request version 2 without a session, so that BuildKit takes the build context as a plain tar
          // stream.
          ...(builder === "buildkit" && { version: "2" }),
          t: tags,
          labels,
          buildargs: args,
          dockerfile: "Dockerfile",
          rm: true,
          ...(fresh && { nocache: true }),
          forcerm: true,
          ...(!network && { networkmode: "none" }),
        },
        body: context,
        operation: `build ${image}`,
        signal,
      });
      try {
        return await readBuildStream(answer, image, onEvent);
      } catch (error) {
        // The classic builder answers HTTP 400 to an invalid Dockerfile, before it builds anything.
        const refusal = isError(error, "ENGINE_FAILED") ? (error.cause as { statusCode?: number }) : null;
        if (refusal?.statusCode !== 400) throw error;
        throw new SwarmError(
          "IMAGE_BUILD_FAILED",
          { image, step: "", reason: engineErrorMessage(refusal) },
          error,
        );
      }
    },

    async pull(reference, signal) {
      refuseInvalidImage(reference);
      const text = await call(
        {
          operation: `pull ${reference}`,
          missing: () =>
            new SwarmError("IMAGE_NOT_FOUND", { image: reference, reason: "no registry has the image" }),
          ...{ signal, limitMs: pullMs },
        },
        async (ending) => textOf(await docker.pull(reference, abortSignalOption(ending))),
      );
      const problem = /"error":\s*"([^"]*)"/.exec(text)?.[1];
      if (problem) throw new SwarmError("ENGINE_FAILED", { operation: `pull ${reference}`, reason: problem });
    },

    async tag(reference, tag, signal) {
      const [repo, name] = splitImageTag(tag);
      await call({ operation: `tag ${reference}`, signal }, (ending) =>
        docker.getImage(reference).tag({ repo, tag: name, ...abortSignalOption(ending) }),
      );
    },

    async remove(reference, signal) {
      return call({ operation: `remove the image ${reference}`, signal }, async (ending) => {
        try {
          await docker.getImage(reference).remove({ force: false, ...abortSignalOption(ending) });
        } catch (error) {
          const { statusCode } = error as { statusCode?: number };
          if (statusCode === 409) return false;
          if (statusCode !== 404) throw error;
        }
        return true;
      });
    },
  };

  /**
   * Sends a POST request with a body to the engine, and yields the response in chunks. Avoids dockerode's
   * own methods, because they open a BuildKit session, which sometimes fails.
   */
  async function* upload(
    { modem }: Docker,
    {
      path,
      options,
      body,
      operation,
      signal,
    }: {
      readonly path: string;
      readonly options: object;
      readonly body: AsyncIterable<Uint8Array>;
      readonly operation: string;
      readonly signal?: AbortSignal | undefined;
    },
  ): AsyncGenerator<Uint8Array> {
    const file = Readable.from(body, { objectMode: false });
    const { promise, resolve, reject } = Promise.withResolvers<AsyncIterable<Uint8Array>>();
    // If reading the body fails, the request ends too. Report the body's error, which is the cause.
    const translated = (error: unknown): unknown =>
      file.errored ?? translateEngineFailure(endpoint, { operation, signal }, error);
    modem.dial(
      {
        path,
        method: "POST",
        file,
        options,
        isStream: true,
        statusCodes: { 200: true, 404: "no such image", 500: "server error" },
        ...abortSignalOption(signal),
      },
      (error: unknown, stream: unknown) =>
        error ? reject(error) : resolve(stream as AsyncIterable<Uint8Array>),
    );
    try {
      yield* await promise;
    } catch (error) {
      throw translated(error);
    } finally {
      file.destroy();
    }
  }
}

async function textOf(stream: AsyncIterable<Uint8Array | string> | NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const bytes of stream) text = (text + String(bytes)).slice(-1_000_000);
  return text;
}
