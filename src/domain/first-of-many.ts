/**
 * A list that keeps the first items, up to a maximum, and only counts the rest. That bounds memory: a container can
 * report any number of items.
 */
export class BoundedList<Item> {
  readonly items: Item[] = [];
  /** The number of items that the list counted but did not keep. */
  more = 0;
  readonly #most: number;
  #charactersLeft: number;

  constructor(most: { readonly items: number; readonly characters: number }) {
    this.#most = most.items;
    this.#charactersLeft = most.characters;
  }

  /**
   * Adds an item. If the list has no room for the item, only counts this item and all later ones.
   * `characters` is the item's size.
   */
  add(item: Item, characters: number): void {
    if (this.more > 0 || this.items.length >= this.#most || characters > this.#charactersLeft) {
      this.more += 1;
      return;
    }
    this.items.push(item);
    this.#charactersLeft -= characters;
  }
}
