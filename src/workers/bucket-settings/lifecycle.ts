import { bucketSettingsErrors } from "./errors.ts";
import type { AgeOrDate, LifecycleRule } from "./port.ts";

const MAX_RULES = 1000;
const MAX_ID = 255;
const MAX_BYTES = 512 * 1024;
const MAX_PREFIX = 1024;

/** The rules of a bucket whose rules were never set: its uploads are aborted after 7 days. */
export const defaultLifecycle: LifecycleRule[] = [
  {
    id: "Default Multipart Abort Rule",
    enabled: true,
    conditions: { prefix: "" },
    abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 604_800 } },
  },
];

/** Throws invalidLifecycle. */
export function checkLifecycle(rules: readonly LifecycleRule[]): void {
  const refuse = (reason: string) => bucketSettingsErrors.invalidLifecycle({ reason });
  if (rules.length > MAX_RULES) throw refuse(`it has more than ${MAX_RULES} rules`);
  if (Buffer.byteLength(JSON.stringify(rules)) > MAX_BYTES) throw refuse(`it has more than ${MAX_BYTES} bytes`);
  const ids = new Set<string>();
  for (const rule of rules) {
    const { id, conditions } = rule;
    if (id === "" || id.length > MAX_ID) throw refuse(`an id must have 1 to ${MAX_ID} characters`);
    if (ids.has(id)) throw refuse(`the id ${JSON.stringify(id)} is used twice`);
    ids.add(id);
    if (
      Buffer.byteLength(conditions.prefix) > MAX_PREFIX ||
      conditions.prefix.includes("\0") ||
      !conditions.prefix.isWellFormed()
    )
      throw refuse(`the prefix of ${JSON.stringify(id)} has more than ${MAX_PREFIX} bytes, or is not valid text`);
    const transitions = [
      rule.deleteObjectsTransition,
      rule.abortMultipartUploadsTransition,
      ...(rule.storageClassTransitions ?? []),
    ].filter((each) => each !== undefined);
    if (transitions.length === 0) throw refuse(`the rule ${JSON.stringify(id)} has no action`);
    for (const { condition } of transitions) checkCondition(condition, id, refuse);
  }
}

function checkCondition(condition: AgeOrDate, id: string, refuse: (reason: string) => Error): void {
  if (condition.type === "Age" && !(Number.isSafeInteger(condition.maxAge) && condition.maxAge > 0))
    throw refuse(`the age of ${JSON.stringify(id)} must be a whole number of seconds above 0`);
  if (condition.type === "Date" && Number.isNaN(Date.parse(condition.date)))
    throw refuse(`the date of ${JSON.stringify(id)} must be in ISO 8601: ${JSON.stringify(condition.date)}`);
}

/**
 * Objects stored before the returned time (epoch milliseconds) are affected at `now`. -Infinity: none.
 */
export function affectedBefore(condition: AgeOrDate, now: number): number {
  if (condition.type === "Age") return now - condition.maxAge * 1000;
  return now >= Date.parse(condition.date) ? Infinity : -Infinity;
}
