import { Readable } from "node:stream";
import { isError, SwarmError } from "../../../errors/errors.ts";
import { engineFailed } from "../../engine-failed.ts";
import type { Images } from "../../images.ts";
import type { EngineConnection } from "../call-engine.ts";
import { labelFilter, labelInstructions } from "../label-filter.ts";
import { refuseInvalidImage } from "../require-safe-names.ts";
import {
  engineErrorMessage,
  httpStatusOf,
  nullIfStatus,
  translateEngineFailure,
} from "../translate-failure.ts";
import { readBuildStream } from "./build-stream.ts";
import { requireSuccess } from "./require-success.ts";
import { splitImageTag } from "./split-tag.ts";

/** The time limit of an image pull in milliseconds, long enough for gigabytes over a slow connection. */
const pullMs = 3_600_000;

/** Creates the operations on the images of a Docker-compatible engine. */
export function dockerImages(connection: EngineConnection): Images {
  const { docker, call } = connection;
  const find: Images["find"] = (reference, signal) =>
    call({ operation: `look for the image ${reference}`, signal }, async () => {
      const found = await docker.getImage(reference).inspect().catch(nullIfStatus(404));
      return (
        found && {
          id: found.Id,
          tags: found.RepoTags ?? [],
          labels: found.Config?.Labels ?? {},
          createdAt: new Date(found.Created),
          sizeBytes: found.Size,
        }
      );
    });

  return {
    find,
    build: (spec, onEvent, signal) => buildImage(connection, spec, onEvent, signal),

    async list(labels, signal) {
      const found = await call({ operation: "list images", signal }, (ending) =>
        docker.listImages({ filters: labelFilter(labels), ...ending }),
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
      const operation = "import an image";
      const [repo, name] = splitImageTag(tag);
      const answer = upload(connection, {
        path: "/images/create?",
        options: { fromSrc: "-", repo, tag: name, changes: labelInstructions(labels) },
        body: archive,
        operation,
        signal,
      });
      await requireSuccess(answer, operation);
      const made = await find(tag, signal);
      if (made) return made.id;
      throw engineFailed(operation, "the engine does not have the image after the import");
    },

    async pull(reference, signal) {
      refuseInvalidImage(reference);
      const operation = `pull ${reference}`;
      await call(
        {
          operation,
          missing: () =>
            new SwarmError("IMAGE_NOT_FOUND", { image: reference, reason: "no registry has the image" }),
          signal,
          limitMs: pullMs,
        },
        async (ending) => requireSuccess(await docker.pull(reference, { ...ending }), operation),
      );
    },

    async tag(reference, tag, signal) {
      const [repo, name] = splitImageTag(tag);
      await call({ operation: `tag ${reference}`, signal }, (ending) =>
        docker.getImage(reference).tag({ repo, tag: name, ...ending }),
      );
    },

    remove: (reference, signal) =>
      call({ operation: `remove the image ${reference}`, signal }, async (ending) => {
        try {
          await docker.getImage(reference).remove({ force: false, ...ending });
        } catch (error) {
          const status = httpStatusOf(error);
          if (status === 409) return false;
          if (status !== 404) throw error;
        }
        return true;
      }),
  };
}

async function buildImage(
  connection: EngineConnection,
  ...[{ context, tags, labels, args, builder, network, fresh }, onEvent, signal]: Parameters<Images["build"]>
): Promise<string> {
  tags.forEach(refuseInvalidImage);
  const [image = "an image"] = tags;
  const answer = upload(connection, {
    path: "/build?",
    options: {
      // Request version 2 without a session, so that BuildKit takes the build context as a plain tar stream.
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
    if (!isError(error, "ENGINE_FAILED") || !error.cause || httpStatusOf(error.cause) !== 400) throw error;
    const reason = engineErrorMessage(error.cause);
    throw new SwarmError("IMAGE_BUILD_FAILED", { image, step: "", reason }, error);
  }
}

interface Upload {
  readonly path: string;
  readonly options: object;
  readonly body: AsyncIterable<Uint8Array>;
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends a POST request with a body to the engine, and yields the response in chunks. Avoids dockerode's own
 * methods, because they open a BuildKit session, which sometimes fails.
 */
async function* upload(
  { docker, endpoint }: EngineConnection,
  { path, options, body, operation, signal }: Upload,
): AsyncGenerator<Uint8Array> {
  const file = Readable.from(body, { objectMode: false });
  const { promise, resolve, reject } = Promise.withResolvers<AsyncIterable<Uint8Array>>();
  docker.modem.dial(
    {
      path,
      method: "POST",
      file,
      options,
      isStream: true,
      statusCodes: { 200: true, 404: "no such image", 500: "server error" },
      ...(signal && { abortSignal: signal }),
    },
    (error: unknown, stream: unknown) =>
      error ? reject(error) : resolve(stream as AsyncIterable<Uint8Array>),
  );
  try {
    yield* await promise;
  } catch (error) {
    // If reading the body fails, the request ends too. Report the body's error, which is the cause.
    throw file.errored ?? translateEngineFailure(endpoint, { operation, signal }, error);
  } finally {
    file.destroy();
  }
}
