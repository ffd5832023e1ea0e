import { DnsSyntaxError } from "./syntax-error.ts";
import type { MasterFileToken } from "./tokens.ts";

/** A geographical location (RFC 1876): degrees, minutes, seconds; lengths in metres. */
export interface Location {
  lat_degrees: number;
  lat_minutes: number;
  lat_seconds: number;
  lat_direction: string;
  long_degrees: number;
  long_minutes: number;
  long_seconds: number;
  long_direction: string;
  altitude: number;
  size: number;
  precision_horz: number;
  precision_vert: number;
}

type Range = readonly [min: number, max: number, decimals: number, fallback?: number];
const MAX_CENTIMETRES = 90_000_000;

/** RFC 1876 3: minimum, maximum, number of decimals, and the default for optional fields. */
const RANGES = {
  lat_degrees: [0, 90, 0],
  lat_minutes: [0, 59, 0, 0],
  lat_seconds: [0, 59.999, 3, 0],
  long_degrees: [0, 180, 0],
  long_minutes: [0, 59, 0, 0],
  long_seconds: [0, 59.999, 3, 0],
  altitude: [-100_000, 42_849_672.95, 2],
  size: [0, MAX_CENTIMETRES, 2, 1],
  precision_horz: [0, MAX_CENTIMETRES, 2, 10_000],
  precision_vert: [0, MAX_CENTIMETRES, 2, 10],
} as const satisfies Record<string, Range>;

export function checkLocation(value: unknown): Location {
  if (typeof value !== "object" || value === null) throw new DnsSyntaxError("it must be an object");
  const inputFields = value as Record<string, unknown>;
  const numbers = Object.fromEntries(
    Object.entries(RANGES).map(([name, range]) => [name, checkNumber(name, inputFields[name], range)]),
  ) as unknown as Location;
  return {
    lat_degrees: numbers.lat_degrees,
    lat_minutes: numbers.lat_minutes,
    lat_seconds: numbers.lat_seconds,
    lat_direction: checkDirection("lat_direction", inputFields.lat_direction, "N", "S"),
    long_degrees: numbers.long_degrees,
    long_minutes: numbers.long_minutes,
    long_seconds: numbers.long_seconds,
    long_direction: checkDirection("long_direction", inputFields.long_direction, "E", "W"),
    altitude: numbers.altitude,
    size: numbers.size,
    precision_horz: numbers.precision_horz,
    precision_vert: numbers.precision_vert,
  };
}

function checkNumber(name: string, value: unknown, [min, max, decimals, fallback]: Range): number {
  if (value === undefined && fallback !== undefined) return fallback;
  if (typeof value !== "number" || !(value >= min && value <= max))
    throw new DnsSyntaxError(`${name} must be a number from ${min} to ${max}`);
  if (decimals === 0 && !Number.isInteger(value)) throw new DnsSyntaxError(`${name} must be a whole number`);
  // Adding zero converts -0 to 0.
  return Number(value.toFixed(decimals)) + 0;
}

function checkDirection(name: string, value: unknown, positiveLetter: string, negativeLetter: string): string {
  const letter = typeof value === "string" ? value.toUpperCase() : undefined;
  if (letter !== positiveLetter && letter !== negativeLetter)
    throw new DnsSyntaxError(`${name} must be ${positiveLetter} or ${negativeLetter}`);
  return letter;
}

export const presentLocation = (at: Location): string =>
  `${at.lat_degrees} ${at.lat_minutes} ${at.lat_seconds} ${at.lat_direction} ${at.long_degrees} ${at.long_minutes} ${at.long_seconds} ${at.long_direction} ` +
  `${formatMetres(at.altitude)} ${formatMetres(at.size)} ${formatMetres(at.precision_horz)} ${formatMetres(at.precision_vert)}`;

const formatMetres = (length: number) => `${length}m`;

/** Reads `d1 [m1 [s1]] {N|S} d2 [m2 [s2]] {E|W} alt[m] [siz[m] [hp[m] [vp[m]]]]`. */
export function readLocation(tokens: MasterFileToken[]): Partial<Location> {
  const remainingWords = tokens.map(({ text }) => text);
  const takeAngle = (letters: RegExp) => {
    const parts: (number | undefined)[] = [];
    while (remainingWords.length > 0 && !letters.test(remainingWords[0]!) && parts.length < 3)
      parts.push(parseDecimal(remainingWords.shift()!));
    return { parts, letter: remainingWords.shift() };
  };
  const length = () =>
    remainingWords.length === 0 ? undefined : parseDecimal(remainingWords.shift()!.replace(/m$/i, ""));
  const latitude = takeAngle(/^[NS]$/i);
  const longitude = takeAngle(/^[EW]$/i);
  const [altitude, size, horizontal, vertical] = [length(), length(), length(), length()];
  if (remainingWords.length > 0)
    throw new DnsSyntaxError(`unexpected ${JSON.stringify(remainingWords[0])} after the vertical precision`);
  return withoutUndefined({
    lat_degrees: latitude.parts[0],
    lat_minutes: latitude.parts[1],
    lat_seconds: latitude.parts[2],
    lat_direction: latitude.letter,
    long_degrees: longitude.parts[0],
    long_minutes: longitude.parts[1],
    long_seconds: longitude.parts[2],
    long_direction: longitude.letter,
    altitude,
    size,
    precision_horz: horizontal,
    precision_vert: vertical,
  });
}

const withoutUndefined = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

function parseDecimal(text: string): number {
  if (!/^-?\d{1,12}(\.\d{1,6})?$/.test(text)) throw new DnsSyntaxError(`${JSON.stringify(text)} is not a number`);
  return Number(text);
}
