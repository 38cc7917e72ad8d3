/** Keeps the first items within limits and counts the rest: a container can name any number of items. */
export class BoundedList<Item> {
  readonly items: Item[] = [];
  /** The number of items that were not kept. */
  more = 0;
  readonly #most: number;
  #charactersLeft: number;

  constructor(most: { readonly items: number; readonly characters: number }) {
    this.#most = most.items;
    this.#charactersLeft = most.characters;
  }

  /** `characters` is the size of the item. */
  add(item: Item, characters: number): void {
    if (this.more > 0 || this.items.length >= this.#most || characters > this.#charactersLeft) {
      this.more += 1;
      return;
    }
    this.items.push(item);
    this.#charactersLeft -= characters;
  }
}
