import { commandErrors } from "./errors.ts";

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FIXES = {
  past: "Use a duration such as 30m, 2h or 7d, or a time such as 2026-11-20T12:00:00Z",
  future: "Use a duration from now such as 30m, 2h or 7d, or a time such as 2026-11-20T12:00:00Z",
};

/**
 * Parses a duration before now (or after now for future times), or a time in RFC 3339 format (a date alone means
 * midnight UTC). Returns the API format.
 */
export function parseTimeOption(
  option: string,
  text: string,
  now: number,
  direction: "past" | "future" = "past",
): string {
  const durationMatch = /^(\d{1,6})([smhd])$/.exec(text);
  const distanceMs = durationMatch === null ? 0 : Number(durationMatch[1]) * UNITS[durationMatch[2]!]!;
  const time =
    durationMatch === null
      ? /^\d{4}-\d\d-\d\d([T ].+)?$/.test(text)
        ? Date.parse(text.replace(" ", "T"))
        : NaN
      : direction === "past"
        ? now - distanceMs
        : now + distanceMs;
  if (Number.isNaN(time))
    throw commandErrors.badContent({ what: `${option} ${text}`, reason: "it is not a time", fix: FIXES[direction] });
  return new Date(time).toISOString();
}
