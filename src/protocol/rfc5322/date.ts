const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats a date as in RFC 5322 3.3, in UTC. */
export function rfc5322Date(at: Date): string {
  const padTwo = (n: number) => String(n).padStart(2, "0");
  const time = `${padTwo(at.getUTCHours())}:${padTwo(at.getUTCMinutes())}:${padTwo(at.getUTCSeconds())}`;
  return `${DAYS[at.getUTCDay()]}, ${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()} ${time} +0000`;
}
