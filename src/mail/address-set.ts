import { networkSet, type NetworkSet } from "../kernel/networks.ts";
import { mailErrors } from "./errors.ts";

/**
 * Returns a set of addresses and CIDR ranges. Throws UserError for invalid text; `setting` is the setting that contains
 * the text.
 */
export const addressSet = (ranges: readonly string[], setting: string): NetworkSet =>
  networkSet(ranges, (range) => mailErrors.rangeInvalid({ range, setting }));
