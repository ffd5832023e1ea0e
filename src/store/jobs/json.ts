/**
 * Returns undefined for values that JSON cannot represent: functions, cycles, bigints. `undefined` is stored as null.
 */
export function toJson(value: unknown): string | undefined {
  try {
    return value === undefined ? "null" : JSON.stringify(value);
  } catch {
    return undefined;
  }
}
