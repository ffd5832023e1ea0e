import type { Location } from "./location.ts";
import type { WireWriter } from "./wire-writer.ts";

/**
 * RFC 1876 2: angles in thousandths of an arc second around 2^31, altitude in centimetres above 100 km below the
 * ellipsoid.
 */
export function writeLocation(at: Location, out: WireWriter): void {
  out.u8(0);
  for (const length of [at.size, at.precision_horz, at.precision_vert]) out.u8(sizeOctet(length));
  out.u32(toAngleOctets(at.lat_degrees, at.lat_minutes, at.lat_seconds, at.lat_direction === "N"));
  out.u32(toAngleOctets(at.long_degrees, at.long_minutes, at.long_seconds, at.long_direction === "E"));
  out.u32(Math.round(at.altitude * 100) + 10_000_000);
}

const toAngleOctets = (degrees: number, minutes: number, seconds: number, isPositive: boolean) => {
  const milliseconds = Math.round(((degrees * 60 + minutes) * 60 + seconds) * 1000);
  return 2 ** 31 + (isPositive ? milliseconds : -milliseconds);
};

/** Encodes centimetres as one digit and a power of ten, rounded down. */
function sizeOctet(metres: number): number {
  let base = Math.round(metres * 100);
  let power = 0;
  for (; base > 9; power++) base = Math.floor(base / 10);
  return (base << 4) | power;
}
