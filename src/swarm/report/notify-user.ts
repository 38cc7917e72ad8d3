import { messageOf } from "../../errors/errors.ts";
import { requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import { createNotice, type NoticeReason } from "./rules/notice.ts";
import { runNotifier } from "./run-notifier.ts";
import { type SummaryAccess, summarizeState } from "./summarize-state.ts";

/**
 * Runs the user's notification command. Resolves with an error message if the command failed, otherwise with
 * null.
 */
export async function notifyUser(
  project: StateAccess & SummaryAccess,
  command: string,
  occasion: NoticeReason,
): Promise<string | null> {
  try {
    const { root } = await project.repository();
    const summary = await summarizeState(project, await requireSwarmState(project));
    return await runNotifier(root, command, createNotice(summary, occasion));
  } catch (error) {
    return messageOf(error);
  }
}
