/**
 * A list that stores the first items up to a maximum, and only counts all further items. The maximum bounds
 * memory, because a container can report any number of items.
 */
export class BoundedList<Item> {
  readonly items: Item[] = [];
  /** The number of items that were counted but not stored. */
  more = 0;
  readonly #most: number;
  #charactersLeft: number;

  constructor(most: { readonly items: number; readonly characters: number }) {
    this.#most = most.items;
    this.#charactersLeft = most.characters;
  }

  /**
   * Adds an item of `characters` characters. If the item does not fit, the list only counts this item and
   * all later ones.
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
