/** The first of what may be many, and how many more there were: what a container names has no end of its own. */
export class FirstOfMany<Item> {
  readonly items: Item[] = [];
  /** How many were not kept. */
  more = 0;
  readonly #most: number;
  #charactersLeft: number;

  constructor(most: { readonly items: number; readonly characters: number }) {
    this.#most = most.items;
    this.#charactersLeft = most.characters;
  }

  /** `characters` is what the item takes. */
  add(item: Item, characters: number): void {
    if (this.more > 0 || this.items.length >= this.#most || characters > this.#charactersLeft) {
      this.more += 1;
      return;
    }
    this.items.push(item);
    this.#charactersLeft -= characters;
  }
}
