import { type AdDocument, readVast } from "./vast.ts";

/** Maximum number of documents to load for one advertisement, because wrappers may be nested. */
const MAX_DOCUMENTS = 5;
const MAX_DOCUMENT_LENGTH = 1_000_000;

/**
 * Loads the advertisement at `url`, with the trackers of every wrapper; undefined if there is none. Rejects if `signal`
 * is aborted.
 */
export async function loadAd(url: string, signal: AbortSignal): Promise<AdDocument | undefined> {
  const trackers: AdDocument["trackers"] = new Map();
  let next: string | undefined = url;
  for (let count = 0; count < MAX_DOCUMENTS && next !== undefined; count++) {
    const response: Response = await fetch(next, { signal, credentials: "omit" });
    const text = response.ok ? await response.text() : "";
    if (text === "" || text.length > MAX_DOCUMENT_LENGTH) return undefined;
    const foundDocument = readVast(new DOMParser().parseFromString(text, "text/xml"), response.url || next);
    if (foundDocument === undefined) return undefined;
    for (const [event, urls] of foundDocument.trackers) trackers.set(event, [...(trackers.get(event) ?? []), ...urls]);
    if (foundDocument.next === undefined) return { ...foundDocument, trackers };
    next = foundDocument.next;
  }
  return undefined;
}
