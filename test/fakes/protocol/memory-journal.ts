import type { HostJournal } from "../../../src/protocol/open-host-journal.ts";
import type { AdapterConversationState } from "../../../src/protocol/rules/message-order.ts";
import type { JournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";

/** A journal in memory that takes its time, if it is to. */
export class MemoryJournal implements HostJournal {
  readonly conversationState: AdapterConversationState;
  readonly messages: JournalledMessage[] = [];
  /** How many messages each append had. */
  readonly groups: number[] = [];
  readonly #written: () => Promise<void>;
  #durable: number;

  constructor(known: AdapterConversationState, written: () => Promise<void> = async () => {}) {
    this.conversationState = known;
    this.#durable = known.lastSeq;
    this.#written = written;
  }

  get lastSeq(): number {
    return this.#durable;
  }

  async append(messages: readonly JournalledMessage[]): Promise<void> {
    this.messages.push(...messages);
    this.groups.push(messages.length);
    for (const [index, { seq }] of this.messages.entries())
      if (seq !== this.conversationState.lastSeq + 1 + index) throw new Error(`A gap before ${seq}`);
    await this.#written();
    this.#durable += messages.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
