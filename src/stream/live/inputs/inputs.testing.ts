import { randomIds } from "../../../kernel/index.ts";
import type { LiveInput } from "./port.ts";
import { DEFAULTS } from "./rules.ts";

/** An input with the default settings and a new uid. */
export const defaultInput = (change: Partial<LiveInput> = {}): LiveInput => ({
  uid: randomIds.hex(),
  account: "a".repeat(32),
  ...structuredClone(DEFAULTS),
  created: 0,
  modified: 0,
  keysRotatedAt: null,
  ...change,
});
