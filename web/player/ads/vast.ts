import { httpUrl } from "../options.ts";

/** The pre-roll advertisement described by one VAST (2 to 4) or VMAP document. */
export interface AdDocument {
  /** The next document to load: from a wrapper, or from an ad break in VMAP. */
  next?: string;
  /** MP4 files of one linear advertisement. */
  files: { url: string; width: number; height: number; bitrate: number }[];
  /** Seconds after which it may be skipped. */
  skipAfter?: number;
  clickThrough?: string;
  /**
   * Tracking URLs by event: impression, start, firstQuartile, midpoint, thirdQuartile, complete, skip, click, error.
   */
  trackers: Map<string, string[]>;
}

/** Maximum number of trackers per event; only an attack would use more. */
const MAX_TRACKERS = 50;

/** Reads the relevant parts. Returns undefined if the document is not XML or contains no pre-roll advertisement. */
export function readVast(document: Document, base: string): AdDocument | undefined {
  if (document.querySelector("parsererror") !== null) return undefined;
  const root = document.documentElement;
  if (root.localName === "VMAP") return readBreak(document, base);
  const ad = first(root, "InLine") ?? first(root, "Wrapper");
  if (ad === undefined) return undefined;
  const linear = first(ad, "Linear");
  const adDocument: AdDocument = { files: [], trackers: new Map() };
  const track = (event: string, elements: Iterable<Element>) => {
    for (const element of elements) addTracker(adDocument.trackers, event, address(element, base));
  };
  track("impression", elementsNamed(ad, "Impression"));
  track("error", elementsNamed(ad, "Error"));
  if (linear !== undefined) {
    for (const element of elementsNamed(linear, "Tracking"))
      addTracker(adDocument.trackers, element.getAttribute("event") ?? "", address(element, base));
    track("click", elementsNamed(linear, "ClickTracking"));
    adDocument.clickThrough = address(first(linear, "ClickThrough"), base);
    adDocument.skipAfter = readOffset(
      linear.getAttribute("skipoffset"),
      first(linear, "Duration")?.textContent ?? null,
    );
    adDocument.files = [...elementsNamed(linear, "MediaFile")].flatMap((file) => readFile(file, base));
  }
  if (ad.localName === "Wrapper") {
    const next = address(first(ad, "VASTAdTagURI"), base);
    return next === undefined ? undefined : { ...adDocument, next };
  }
  return adDocument.files.length === 0 ? undefined : adDocument;
}

/** VMAP 1.0: the pre-roll break, whose document is inline or at another URL. */
function readBreak(document: Document, base: string): AdDocument | undefined {
  for (const adBreak of elementsNamed(document.documentElement, "AdBreak")) {
    const offsetText = adBreak.getAttribute("timeOffset") ?? "start";
    if (offsetText !== "start" && parseClock(offsetText) !== 0) continue;
    const vastElement = first(adBreak, "VAST");
    if (vastElement !== undefined) {
      const vastDocument = document.implementation.createDocument(null, null, null);
      vastDocument.append(vastDocument.importNode(vastElement, true));
      return readVast(vastDocument, base);
    }
    const next = address(first(adBreak, "AdTagURI"), base);
    if (next !== undefined) return { next, files: [], trackers: new Map() };
  }
  return undefined;
}

function readFile(file: Element, base: string): AdDocument["files"] {
  const url = address(file, base);
  if (
    url === undefined ||
    file.getAttribute("apiFramework") !== null ||
    !/^video\/mp4\b/i.test(file.getAttribute("type") ?? "")
  )
    return [];
  return [
    {
      url,
      width: Number(file.getAttribute("width")) || 0,
      height: Number(file.getAttribute("height")) || 0,
      bitrate: Number(file.getAttribute("bitrate")) || 0,
    },
  ];
}

/** Parses `00:00:05`, or `25%` of the duration, to seconds. */
function readOffset(text: string | null, duration: string | null): number | undefined {
  if (text === null) return undefined;
  const percent = /^(\d{1,3})%$/.exec(text.trim())?.[1];
  if (percent === undefined) return parseClock(text);
  const totalSeconds = parseClock(duration ?? "");
  return totalSeconds === undefined ? undefined : (totalSeconds * Number(percent)) / 100;
}

function parseClock(text: string): number | undefined {
  const parts = /^(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)$/.exec(text.trim());
  return parts === null ? undefined : Number(parts[1]) * 3600 + Number(parts[2]) * 60 + Number(parts[3]);
}

function addTracker(trackers: AdDocument["trackers"], event: string, url: string | undefined): void {
  if (url === undefined) return;
  const knownUrls = trackers.get(event) ?? [];
  if (knownUrls.length < MAX_TRACKERS) trackers.set(event, [...knownUrls, url]);
}

// Compares local names, because VMAP elements have a prefix.
const elementsNamed = (parentElement: Element, name: string) => [...parentElement.getElementsByTagNameNS("*", name)];
const first = (parentElement: Element, name: string): Element | undefined => elementsNamed(parentElement, name)[0];
const address = (element: Element | undefined, base: string): string | undefined =>
  httpUrl(element?.textContent?.trim(), base);
