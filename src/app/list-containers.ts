import { httpGetFromSocket } from "../engine/docker/http-get-from-socket.ts";
import { containerListPath, parseContainerList } from "../engine/docker/list-containers.ts";
import type { LabelledContainer } from "../engine/engine.ts";

/**
 * Lists a project's containers with one request to the engine's socket. Returns null if the engine gives no
 * valid answer within a second.
 */
export async function listContainersOfProject(
  socket: string,
  projectId: string,
): Promise<LabelledContainer[] | null> {
  const path = containerListPath({ projectId, worktree: "." });
  return parseContainerList(await httpGetFromSocket(socket, path, { timeoutMs: 1_000 }));
}
