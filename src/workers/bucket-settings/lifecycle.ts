import { bucketSettingsErrors } from "./errors.ts";
import type { AgeOrDate, LifecycleRule } from "./port.ts";

const MAX_RULES = 1000;
const MAX_ID_LENGTH = 255;
const MAX_POLICY_BYTES = 512 * 1024;
const MAX_PREFIX_BYTES = 1024;

/** The default lifecycle rules of a bucket: incomplete uploads are aborted after 7 days. */
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
  if (Buffer.byteLength(JSON.stringify(rules)) > MAX_POLICY_BYTES)
    throw refuse(`it has more than ${MAX_POLICY_BYTES} bytes`);
  const ids = new Set<string>();
  for (const rule of rules) {
    const { id, conditions } = rule;
    if (id === "" || id.length > MAX_ID_LENGTH) throw refuse(`an id must have 1 to ${MAX_ID_LENGTH} characters`);
    if (ids.has(id)) throw refuse(`the id ${JSON.stringify(id)} is used twice`);
    ids.add(id);
    if (
      Buffer.byteLength(conditions.prefix) > MAX_PREFIX_BYTES ||
      conditions.prefix.includes("\0") ||
      !conditions.prefix.isWellFormed()
    )
      throw refuse(`the prefix of ${JSON.stringify(id)} has more than ${MAX_PREFIX_BYTES} bytes, or is not valid text`);
    const transitions = [
      rule.deleteObjectsTransition,
      rule.abortMultipartUploadsTransition,
      ...(rule.storageClassTransitions ?? []),
    ].filter((transition) => transition !== undefined);
    if (transitions.length === 0) throw refuse(`the rule ${JSON.stringify(id)} has no action`);
    for (const { condition } of transitions) checkCondition(condition, id, refuse);
  }
}

function checkCondition(condition: AgeOrDate, id: string, refuse: (reason: string) => Error): void {
  if (condition.type === "Age" && !(Number.isSafeInteger(condition.maxAge) && condition.maxAge > 0))
    throw refuse(`the age of ${JSON.stringify(id)} must be a positive whole number of seconds`);
  if (condition.type === "Date" && Number.isNaN(Date.parse(condition.date)))
    throw refuse(`the date of ${JSON.stringify(id)} must be in ISO 8601: ${JSON.stringify(condition.date)}`);
}

/**
 * At `now`, the condition affects objects stored before the returned time (epoch milliseconds). Returns -Infinity if it
 * affects no objects.
 */
export function affectedBefore(condition: AgeOrDate, now: number): number {
  if (condition.type === "Age") return now - condition.maxAge * 1000;
  return now >= Date.parse(condition.date) ? Infinity : -Infinity;
}
