import assert from "node:assert/strict";

/** A media playlist, parsed independently of the writer. */
export interface ParsedPlaylist {
  version: number;
  target: number;
  partTarget: number | undefined;
  sequence: number;
  skipped: number;
  ended: boolean;
  hint: string | undefined;
  reports: Record<string, string>[];
  control: Record<string, string>;
  segments: ReadSegment[];
  /** Parts of the unfinished segment. */
  open: ReadPart[];
}

interface ReadSegment {
  n: number;
  uri: string;
  duration: number;
  discontinuity: number;
  init: string | undefined;
  at: string | undefined;
  gap: boolean;
  parts: ReadPart[];
}

interface ReadPart {
  uri: string;
  duration: number;
  independent: boolean;
}

export function readPlaylist(text: string): ParsedPlaylist {
  const lines = text.split("\n");
  assert.equal(lines.shift(), "#EXTM3U");
  assert.equal(lines.pop(), "", "the playlist ends with a newline");
  const read: ParsedPlaylist = {
    version: 1,
    target: 0,
    partTarget: undefined,
    sequence: 0,
    skipped: 0,
    ended: false,
    hint: undefined,
    reports: [],
    control: {},
    segments: [],
    open: [],
  };
  let discontinuity = 0;
  let init: string | undefined;
  let next = fresh();
  for (const line of lines) {
    const [, tag = "", value = ""] = /^#(EXT[A-Z0-9-]*):?(.*)$/.exec(line) ?? [];
    const attributes = () =>
      Object.fromEntries(
        [...value.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^",]+))/g)].map(([, name, quoted, plain]) => [
          name!,
          quoted ?? plain!,
        ]),
      );
    if (tag === "EXT-X-VERSION") read.version = Number(value);
    else if (tag === "EXT-X-TARGETDURATION") read.target = Number(value);
    else if (tag === "EXT-X-MEDIA-SEQUENCE") read.sequence = Number(value);
    else if (tag === "EXT-X-DISCONTINUITY-SEQUENCE") discontinuity = Number(value);
    else if (tag === "EXT-X-SERVER-CONTROL") read.control = attributes();
    else if (tag === "EXT-X-PART-INF") read.partTarget = Number(attributes()["PART-TARGET"]);
    else if (tag === "EXT-X-SKIP") read.skipped = Number(attributes()["SKIPPED-SEGMENTS"]);
    else if (tag === "EXT-X-DISCONTINUITY") discontinuity++;
    else if (tag === "EXT-X-MAP") init = attributes()["URI"];
    else if (tag === "EXT-X-PROGRAM-DATE-TIME") next.at = value;
    else if (tag === "EXT-X-GAP") next.gap = true;
    else if (tag === "EXT-X-PART")
      next.parts.push({
        uri: attributes()["URI"]!,
        duration: Number(attributes()["DURATION"]),
        independent: attributes()["INDEPENDENT"] === "YES",
      });
    else if (tag === "EXTINF") next.duration = Number(value.replace(",", ""));
    else if (tag === "EXT-X-PRELOAD-HINT") read.hint = attributes()["URI"];
    else if (tag === "EXT-X-RENDITION-REPORT") read.reports.push(attributes());
    else if (tag === "EXT-X-ENDLIST") read.ended = true;
    else if (["EXT-X-INDEPENDENT-SEGMENTS", "EXT-X-PLAYLIST-TYPE", "EXT-X-START"].includes(tag)) continue;
    else {
      assert.doesNotMatch(line, /^#|^$/, `unknown line: ${line}`);
      read.segments.push({
        ...next,
        uri: line,
        n: read.sequence + read.skipped + read.segments.length,
        discontinuity,
        init,
      });
      next = fresh();
    }
  }
  read.open = next.parts;
  return read;
}

const fresh = () => ({
  duration: Number.NaN,
  at: undefined as string | undefined,
  gap: false,
  parts: [] as ReadPart[],
});

/** Requirements of rfc8216bis for one playlist. */
export function assertValid({ target, partTarget, segments, open, version, control, ended }: ParsedPlaylist): void {
  for (const { uri, duration, gap, parts } of segments) {
    assert.ok(
      duration > 0 && Math.round(duration) <= target,
      `${uri} has a duration of ${duration}, the target is ${target}`,
    );
    if (gap) assert.ok(version >= 8, "EXT-X-GAP");
    if (parts.length > 0)
      assert.ok(
        Math.abs(parts.reduce((sum, part) => sum + part.duration, 0) - duration) < 1e-4,
        `the parts of ${uri} do not add up to its duration of ${duration}`,
      );
  }
  const parts = [...segments.flatMap((segment) => segment.parts), ...open];
  if (parts.length === 0) return;
  assert.ok(
    partTarget !== undefined && parts.every(({ duration }) => duration <= partTarget + 1e-6),
    "no part exceeds the part target",
  );
  assert.ok(ended || Number(control["PART-HOLD-BACK"]) >= 2 * partTarget - 1e-6);
}

/** Requirements for two playlists read in succession (6.2.1): published content may not be removed or changed. */
export function assertFollows(before: ParsedPlaylist, after: ParsedPlaylist): void {
  assert.ok(after.sequence >= before.sequence, "the sequence number decreased");
  assert.ok(after.target >= before.target);
  const last = (one: ParsedPlaylist) => one.sequence + one.skipped + one.segments.length;
  assert.ok(last(after) >= last(before), "the last segment was removed");
  for (const old of before.segments) {
    const now = after.segments.find(({ n }) => n === old.n);
    if (now === undefined) {
      assert.ok(old.n < after.sequence + after.skipped, `segment ${old.n} is missing`);
      continue;
    }
    const { parts, at, init, ...rest } = now;
    const { parts: partsBefore, at: atBefore, init: initBefore, ...restBefore } = old;
    assert.deepEqual(rest, restBefore);
    // Tags of skipped segments apply to the following segments and are not repeated.
    if (before.skipped + after.skipped === 0 || (init !== undefined && initBefore !== undefined))
      assert.equal(init, initBefore);
    if (at !== undefined && atBefore !== undefined) assert.equal(at, atBefore);
    if (parts.length > 0 && partsBefore.length > 0) assert.deepEqual(parts, partsBefore);
  }
  if (before.open.length === 0) return;
  const grown =
    last(after) === last(before) ? after.open : (after.segments.find(({ n }) => n === last(before))?.parts ?? []);
  if (grown.length > 0) assert.deepEqual(grown.slice(0, before.open.length), before.open, "parts changed");
}

/** The part announced by the preload hint of `before` must be the next part that `after` lists. */
export function assertPreloadHintFulfilled(before: ParsedPlaylist, after: ParsedPlaylist): void {
  if (before.hint === undefined || after.ended) return;
  const partsOf = ({ segments, open }: ParsedPlaylist) =>
    [...segments.flatMap(({ parts }) => parts), ...open].map(({ uri }) => uri);
  const known = new Set(partsOf(before));
  const parts = partsOf(after);
  // Parts of older segments are listed again when the target duration grows, because parts are listed for three target
  // durations.
  const next = parts[parts.findLastIndex((uri) => known.has(uri)) + 1];
  if (next !== undefined) assert.equal(next, before.hint);
}
