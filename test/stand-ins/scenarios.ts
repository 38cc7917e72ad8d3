/** What the stand-in's model does in one answer. All that a step names happens in that answer, text first. */
export interface Step {
  readonly text?: string;
  readonly thinking?: string;
  /** Paths are seen from the work folder. */
  readonly write?: { readonly path: string; readonly content: string };
  readonly edit?: { readonly path: string; readonly from: string; readonly to: string };
  readonly run?: string;
  /** Commits all there is with this message. */
  readonly commit?: string;
  /** A tool by the agent's own name for it. */
  readonly tool?: { readonly name: string; readonly input: Readonly<Record<string, unknown>> };
  /** Text of so many characters, after the other. */
  readonly characters?: number;
  /** The last step again and again, for agents that never end. */
  readonly repeat?: boolean;
  readonly stop?: "max_tokens" | "refusal";
  readonly usage?: Partial<StandInUsage>;
  readonly fault?: Fault;
  readonly delayMs?: number;
}

/** What goes wrong instead of an answer, or late: when all was said but that it was all. With `times` the answer comes after so many failures. */
export type Fault = (
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly message?: string;
    }
  | { readonly cut: "before" | "midway" | "late" }
  | { readonly hang: true }
  | { readonly streamError: string }
) & { readonly times?: number };

export interface StandInUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What it does for one story: the steps after the prompt, then those after each time that a check failed. */
export type Scenario = readonly Step[] | { readonly rounds: readonly (readonly Step[])[] };

/** By story id. */
export type Scenarios = Readonly<Record<string, Scenario>>;

/** A conversation as all the APIs can tell it: what users and tools said, and whose turn it was. */
export interface Spoken {
  readonly role: "user" | "model" | "tool";
  readonly text: string;
}

export interface Chosen {
  readonly storyId: string | null;
  readonly round: number;
  readonly turn: number;
  readonly step: Step;
}

/** A message that tells of a check which failed; a reminder that the agent adds by itself is no such message. */
const failedCheck = /\bcheck\b.*\bfailed\b|\bfailed\b.*\bcheck\b|\bcheck\b.*\bexit(?:ed)? (?:code )?[1-9]/i;

/**
 * Chooses the step by the conversation alone, so that retries, conversations that go on in a new program, and several at
 * once all work: the last text of a user that names a story says which; the failed checks told since its first naming
 * say how many rounds are over; the model's turns since the last of these messages say how far this one is.
 */
export function chooseStep(conversation: readonly Spoken[], scenarios: Scenarios): Chosen {
  const messages = conversation.map((spoken) => ({ ...spoken, text: withoutReminders(spoken.text) }));
  const named = messages.map(({ role, text }) => (role === "user" ? storyIn(text, scenarios) : null));
  const storyId = named.findLast((id) => id !== null) ?? null;
  const scenario = storyId === null ? undefined : scenarios[storyId];
  if (storyId === null || !scenario) return { storyId: null, round: 0, turn: 0, step: { text: "OK" } };

  const rounds = "rounds" in scenario ? scenario.rounds : [scenario];
  const first = named.indexOf(storyId);
  const isFailure = ({ role, text }: Spoken, index: number): boolean =>
    role === "user" && index >= first && failedCheck.test(text);
  const round = Math.min(messages.filter(isFailure).length, rounds.length - 1);
  const begin = messages.findLastIndex(
    (message, index) => named[index] === storyId || isFailure(message, index),
  );
  const turn = turnsIn(messages.slice(begin + 1));
  const steps = rounds[round] ?? [];
  const last = steps.at(-1);
  const step = steps[turn] ?? (last?.repeat ? last : { text: "Nothing more to do." });
  return { storyId, round, turn, step };
}

/** A run of what the model said is one turn, however many items an API makes of it. */
function turnsIn(messages: readonly Spoken[]): number {
  return messages.filter(({ role }, index) => role === "model" && messages[index - 1]?.role !== "model")
    .length;
}

/** The first in a text: a prompt begins with its story, and may tell of earlier ones later. */
function storyIn(text: string, scenarios: Scenarios): string | null {
  const places = Object.keys(scenarios)
    .map((id) => ({ id, at: placeOf(id, text) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at);
  return places[0]?.id ?? null;
}

/** Where a name stands by itself: US-1 is not in US-10. */
function placeOf(id: string, text: string): number {
  const isPart = (character: string | undefined): boolean => /[\w-]/.test(character ?? "");
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1))
    if (!isPart(text[at - 1]) && !isPart(text[at + id.length])) return at;
  return -1;
}

function withoutReminders(text: string): string {
  return text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "");
}
