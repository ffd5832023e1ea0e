/** Undefined for what JSON cannot say: functions, cycles, bigints. `undefined` itself is kept as null. */
export function toJson(value: unknown): string | undefined {
  try {
    return value === undefined ? "null" : JSON.stringify(value);
  } catch {
    return undefined;
  }
}
