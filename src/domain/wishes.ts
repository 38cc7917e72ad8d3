import type { ContainerWish, SwarmState, SwarmWish } from "./generated/swarm-state.ts";
import { findContainer, withRecord } from "./swarm-state.ts";

/** What is asked of the owner: of the whole swarm, or of one worker. */
export type Wish =
  | { readonly of: "swarm"; readonly wish: NonNullable<SwarmWish> }
  | { readonly of: "container"; readonly name: string; readonly wish: NonNullable<ContainerWish> };

/** Writes a wish into the state, where the owner will find it. */
export function withWish(state: SwarmState, wish: Wish): SwarmState {
  return wish.of === "swarm"
    ? { ...state, wish: wish.wish }
    : withRecord(state, { ...findContainer(state, wish.name), wish: wish.wish });
}

/** Everything that is asked now. */
export function openWishes(state: SwarmState): Wish[] {
  const ofContainers = state.containers.flatMap(({ containerName, wish }): Wish[] =>
    wish ? [{ of: "container", name: containerName, wish }] : [],
  );
  return state.wish ? [{ of: "swarm", wish: state.wish }, ...ofContainers] : ofContainers;
}

/** Clears a wish that was carried out, unless another one has taken its place meanwhile. */
export function withoutWish(state: SwarmState, wish: Wish): SwarmState {
  if (wish.of === "swarm") return state.wish === wish.wish ? { ...state, wish: null } : state;
  const record = state.containers.find(({ containerName }) => containerName === wish.name);
  return record?.wish === wish.wish ? withRecord(state, { ...record, wish: null }) : state;
}
