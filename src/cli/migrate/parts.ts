import { AREAS, type Area } from "../../migrate/index.ts";

/** Returns the values of --only; all parts if there are none. */
export const partsIn = (only: readonly Area[] | undefined): readonly Area[] =>
  only === undefined || only.length === 0 ? AREAS : only;
