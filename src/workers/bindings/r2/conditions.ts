import type { Conditions, Etag } from "./object.ts";

/**
 * True if an operation may proceed, given the current object (undefined if there is none). RFC 9110 13.2.2: a passed
 * If-Match makes If-Unmodified-Since moot, and a passed If-None-Match makes If-Modified-Since moot.
 */
export function conditionsHold(
  conditions: Conditions,
  current: { etag: string; uploaded: number } | undefined,
): boolean {
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter } = conditions;
  if (!current) return etagMatches === undefined && uploadedAfter === undefined;

  const time = conditions.secondsGranularity ? (ms: number) => Math.floor(ms / 1000) : (ms: number) => ms;
  const uploaded = time(current.uploaded);
  const matches = etagMatches?.some((etag) => matchesStrongly(etag, current.etag));
  const hasDifferentEtag = etagDoesNotMatch && !etagDoesNotMatch.some((etag) => matchesWeakly(etag, current.etag));

  if (matches === false || hasDifferentEtag === false) return false;
  if (uploadedBefore && !matches && !(uploaded < time(uploadedBefore.getTime()))) return false;
  if (uploadedAfter && !hasDifferentEtag && !(uploaded > time(uploadedAfter.getTime()))) return false;
  return true;
}

// RFC 9110 8.8.3.2: If-Match compares strongly, If-None-Match weakly. Stored etags are all strong.
const matchesStrongly = (etag: Etag, stored: string) =>
  etag.type === "wildcard" || (etag.type === "strong" && etag.value === stored);
const matchesWeakly = (etag: Etag, stored: string) => etag.type === "wildcard" || etag.value === stored;
