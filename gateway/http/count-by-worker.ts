/** A number for each worker. Forgets the workers whose number is 0. */
export class CountByWorker {
  readonly #counts = new Map<string, number>();

  of(worker: string): number {
    return this.#counts.get(worker) ?? 0;
  }

  add(worker: string, amount: number): void {
    const count = this.of(worker) + amount;
    if (count > 0) this.#counts.set(worker, count);
    else this.#counts.delete(worker);
  }
}
