import { readFragments, readInit } from "../../src/protocol/mp4/index.ts";

/**
 * Plays a low-latency broadcast like a player and reports violations of draft-pantos-hls-rfc8216bis: it loads the multivariant playlist, follows
 * every rendition by blocking reloads, and requests every part as soon as a preload hint names it.
 */
interface HlsCheck {
  /** Violations of the specification, as sentences. */
  findings: string[];
  playlists: number;
  segments: number;
  parts: number;
  /** Number of parts requested by preload hint. */
  hints: number;
  variants: {
    uri: string;
    bandwidth: number;
    averageBandwidth: number;
    frameRate: number;
    measured: { peak: number; average: number };
  }[];
}

interface Part {
  uri: string;
  duration: number;
  independent: boolean;
}

interface Segment {
  n: number;
  uri: string | undefined;
  duration: number;
  discontinuity: number;
  init: string;
  /** EXT-X-PROGRAM-DATE-TIME in epoch milliseconds. */
  at: number | undefined;
  gap: boolean;
  parts: Part[];
}

interface Playlist {
  target: number;
  partTarget: number;
  control: Record<string, string>;
  sequence: number;
  ended: boolean;
  /** The last segment may be incomplete, without a URI. */
  segments: Segment[];
  hint: string | undefined;
  reports: Record<string, string>[];
}

/** Timing of a segment's samples, in seconds on the media timeline. */
interface Measured {
  n: number;
  discontinuity: number;
  first: number;
  duration: number;
  at: number | undefined;
  octets: number;
}

interface Rendition {
  uri: string;
  kind: "video" | "audio";
  seen: Map<number, Segment>;
  measured: Measured[];
  last?: Playlist;
}

/** Allows for rounding of EXTINF and of milliseconds in dates. */
const ROUNDING_S = 0.002;
const MAX_FINDINGS = 20;
/** Duration of an audio frame (1024 samples at 22,050 Hz), which may overlap a segment boundary. */
const AUDIO_FRAME_S = 0.047;

export async function checkLowLatencyHls(manifest: string, signal: AbortSignal): Promise<HlsCheck> {
  const findings: string[] = [];
  const counts = { playlists: 0, segments: 0, parts: 0, hints: 0 };
  const report = (text: string) => {
    const finding = text.replaceAll(/https?:\/\/\S+\/(manifest|segments)\/|\?\S*/g, "");
    if (findings.length < MAX_FINDINGS && !findings.includes(finding)) findings.push(finding);
  };
  const expect = (met: boolean, text: () => string) => void (met || report(text()));
  const master = (await load(manifest)).toString();
  const variants = [...master.matchAll(/^#EXT-X-STREAM-INF:(.*)\n(.+)$/gm)].map(([, attributes, uri]) => ({
    uri: new URL(uri!, manifest).href,
    attributes: attributesOf(attributes!),
  }));
  const audio = [...master.matchAll(/^#EXT-X-MEDIA:(.*)$/gm)]
    .map(([, attributes]) => attributesOf(attributes!))
    .filter(({ TYPE, URI }) => TYPE === "AUDIO" && URI !== undefined);
  const renditions: Rendition[] = [
    ...variants.map(({ uri }) => ({ uri, kind: "video" as const, seen: new Map<number, Segment>(), measured: [] })),
    ...audio.map(({ URI }) => ({
      uri: new URL(URI!, manifest).href,
      kind: "audio" as const,
      seen: new Map<number, Segment>(),
      measured: [],
    })),
  ];
  const reported: { by: string; uri: string; n: number; part: number }[] = [];
  await Promise.all(renditions.map(follow));
  compareRenditions();
  return { findings, ...counts, variants: variants.map(bandwidthsOf) };

  async function follow(rendition: Rendition): Promise<void> {
    let pendingHint: { uri: string; response: Promise<Buffer | undefined> } | undefined;
    let next: { n: number; part: number } | undefined;
    while (!signal.aborted) {
      const url = new URL(rendition.uri);
      if (next !== undefined)
        for (const [name, value] of [
          ["_HLS_msn", next.n],
          ["_HLS_part", next.part],
        ] as const)
          url.searchParams.set(name, String(value));
      const text = await load(url.href).catch((err: unknown) =>
        signal.aborted ? undefined : void report(String(err)),
      );
      if (text === undefined) return;
      const playlist = readPlaylist(text.toString(), rendition.uri);
      counts.playlists++;
      checkOne(rendition, playlist);
      if (rendition.last !== undefined) checkFollows(rendition, rendition.last, playlist);
      if (playlist.ended) return;
      if (next !== undefined)
        expect(
          reaches(playlist, next),
          () =>
            `${rendition.uri}: the answer to a blocking reload for segment ${next!.n} part ${next!.part} does not reach it`,
        );
      for (const one of playlist.segments) {
        const before = rendition.seen.get(one.n);
        const complete = one.uri !== undefined && before?.uri === undefined;
        rendition.seen.set(
          one.n,
          one.parts.length === 0 && before !== undefined ? { ...one, parts: before.parts } : one,
        );
        // Segments in the first playlist are not checked, since their parts may have been removed.
        if (complete && rendition.last !== undefined && !one.gap) await checkMedia(rendition, one);
      }
      for (const { URI, "LAST-MSN": n, "LAST-PART": part } of playlist.reports)
        reported.push({
          by: rendition.uri,
          uri: new URL(URI!, rendition.uri).href,
          n: Number(n),
          part: Number(part ?? -1),
        });
      if (pendingHint !== undefined) await checkHint(rendition, playlist, pendingHint);
      const open = playlist.segments.at(-1)!;
      next = open.uri === undefined ? { n: open.n, part: open.parts.length } : { n: open.n + 1, part: 0 };
      if (playlist.hint !== pendingHint?.uri) pendingHint = undefined;
      if (playlist.hint !== undefined && pendingHint === undefined) {
        counts.hints++;
        pendingHint = { uri: playlist.hint, response: load(playlist.hint).catch(() => undefined) };
      }
      rendition.last = playlist;
    }
    await pendingHint?.response;
  }

  function checkOne({ uri }: Rendition, { target, partTarget, control, segments }: Playlist): void {
    expect(control["CAN-BLOCK-RELOAD"] === "YES", () => `${uri}: no CAN-BLOCK-RELOAD`);
    expect(
      Number(control["PART-HOLD-BACK"]) >= 3 * partTarget - 1e-6,
      () => `${uri}: PART-HOLD-BACK ${control["PART-HOLD-BACK"]} is below three times ${partTarget}`,
    );
    expect(
      Number(control["HOLD-BACK"]) >= 3 * target,
      () => `${uri}: HOLD-BACK ${control["HOLD-BACK"]} is below three times ${target}`,
    );
    for (const [i, { n, uri: file, duration, parts, at, discontinuity }] of segments.entries()) {
      if (file !== undefined)
        expect(
          Math.round(duration) <= target,
          () => `${uri}: segment ${n} lasts ${duration} s, over the target of ${target}`,
        );
      for (const [p, part] of parts.entries()) {
        // Section 4.4.4.9.
        expect(
          part.duration <= partTarget + 1e-6,
          () => `${uri}: part ${n}.${p} lasts ${part.duration} s, over the target of ${partTarget}`,
        );
        const isLast = file !== undefined && p === parts.length - 1;
        expect(
          part.duration >= 0.85 * partTarget ||
            isLast ||
            part.independent ||
            (file === undefined && p === parts.length - 1),
          () => `${uri}: part ${n}.${p} lasts ${part.duration} s, below 85 % of ${partTarget}`,
        );
      }
      if (parts.length > 0)
        expect(parts[0]!.independent, () => `${uri}: the first part of segment ${n} is not independent`);
      if (file !== undefined && parts.length > 0)
        expect(
          Math.abs(parts.reduce((sum, part) => sum + part.duration, 0) - duration) < ROUNDING_S,
          () => `${uri}: the parts of segment ${n} do not add up to ${duration}`,
        );
      const before = segments[i - 1];
      if (before === undefined || before.discontinuity !== discontinuity) continue;
      if (at !== undefined && before.at !== undefined)
        expect(
          Math.abs(at - before.at - before.duration * 1000) <= 1000 * ROUNDING_S,
          () =>
            `${uri}: segment ${n} is dated ${at - before.at!} ms after the one before, which lasts ${before.duration} s`,
        );
    }
  }

  /** 6.2.1: a playlist update must not change earlier entries. */
  function checkFollows({ uri }: Rendition, before: Playlist, now: Playlist): void {
    expect(
      now.target === before.target,
      () => `${uri}: the target duration changes from ${before.target} to ${now.target}`,
    );
    expect(
      now.partTarget === before.partTarget,
      () => `${uri}: the part target changes from ${before.partTarget} to ${now.partTarget}`,
    );
    expect(
      now.sequence >= before.sequence,
      () => `${uri}: the media sequence goes back from ${before.sequence} to ${now.sequence}`,
    );
    for (const old of before.segments) {
      const same = now.segments.find(({ n }) => n === old.n);
      if (same === undefined) {
        expect(old.n < now.sequence, () => `${uri}: segment ${old.n} is gone`);
        continue;
      }
      if (old.uri !== undefined)
        expect(
          same.uri === old.uri &&
            same.duration === old.duration &&
            same.discontinuity === old.discontinuity &&
            same.init === old.init,
          () => `${uri}: segment ${old.n} has changed`,
        );
      if (old.at !== undefined)
        expect(
          same.at === old.at,
          () => `${uri}: the date of segment ${old.n} has changed by ${same.at! - old.at!} ms`,
        );
      if (same.parts.length > 0)
        expect(
          JSON.stringify(same.parts.slice(0, old.parts.length)) === JSON.stringify(old.parts),
          () => `${uri}: the parts of segment ${old.n} have changed`,
        );
    }
  }

  /** 4.4.5.3: the hinted part must be the next one. */
  async function checkHint(
    rendition: Rendition,
    playlist: Playlist,
    pendingHint: { uri: string; response: Promise<Buffer | undefined> },
  ): Promise<void> {
    if (playlist.hint === pendingHint.uri) return;
    const isThere = playlist.segments.some(({ parts }) => parts.some(({ uri }) => uri === pendingHint.uri));
    // After a late reload, the segment may be listed without parts or no longer be listed.
    const awaited = rendition.last?.segments.at(-1);
    const isPast =
      awaited !== undefined && playlist.segments.every(({ n, parts }) => parts.length === 0 || n > awaited.n + 1);
    expect(isThere || isPast, () => `${rendition.uri}: the hinted part ${pendingHint.uri} has not come`);
    const bytes = await pendingHint.response;
    expect(
      bytes !== undefined || signal.aborted,
      () => `${rendition.uri}: the hinted part ${pendingHint.uri} was not answered`,
    );
  }

  async function checkMedia(rendition: Rendition, segment: Segment): Promise<void> {
    const name = `${rendition.uri}: segment ${segment.n}`;
    counts.segments++;
    counts.parts += segment.parts.length;
    try {
      const [whole, init, parts] = await Promise.all([
        load(segment.uri!),
        load(segment.init),
        Promise.all(segment.parts.map(({ uri }) => load(uri))),
      ]);
      const { timescale } = await readInit(init);
      if (parts.length > 0) expect(Buffer.concat(parts).equals(whole), () => `${name} is not what its parts are`);
      for (const [p, bytes] of parts.entries()) {
        const syncs = (await fragmentsOf(bytes)).flatMap((one) => [...one.syncs]);
        expect(
          syncs.includes(1) === segment.parts[p]!.independent,
          () => `${name}: part ${p} is marked wrongly as independent or not`,
        );
      }
      const fragments = await fragmentsOf(whole);
      let shown = Infinity;
      for (const { time, durations, shifts } of fragments) {
        let at = time;
        for (const [i, duration] of durations.entries()) {
          shown = Math.min(shown, at + shifts[i]!);
          at += duration;
        }
      }
      const lasts = fragments.flatMap(({ durations }) => [...durations]).reduce((sum, one) => sum + one, 0) / timescale;
      expect(
        Math.abs(lasts - segment.duration) < ROUNDING_S,
        () => `${name} lasts ${lasts} s, not ${segment.duration}`,
      );
      rendition.measured.push({
        n: segment.n,
        discontinuity: segment.discontinuity,
        first: shown / timescale,
        duration: lasts,
        at: segment.at,
        octets: whole.length,
      });
    } catch (err) {
      if (!signal.aborted) report(`${name}: ${String(err)}`);
    }
  }

  function compareRenditions(): void {
    const [leader] = renditions;
    for (const rendition of renditions) {
      for (const { n, discontinuity, first, at } of rendition.measured) {
        const its = leader!.measured.find((one) => one.n === n);
        if (its === undefined) continue;
        expect(
          Math.abs(first - its.first) < (rendition.kind === "audio" ? AUDIO_FRAME_S / 2 : ROUNDING_S),
          () => `${rendition.uri}: segment ${n} begins at ${first}, where ${leader!.uri} begins at ${its.first}`,
        );
        expect(discontinuity === its.discontinuity, () => `${rendition.uri}: segment ${n} is in another discontinuity`);
        // All renditions of an encoder run share one clock.
        if (at !== undefined && its.at !== undefined)
          expect(
            Math.abs(at - its.at - (first - its.first) * 1000) <= 1000 * ROUNDING_S,
            () =>
              `${rendition.uri}: segment ${n} is dated ${(at - its.at!).toFixed(0)} ms after that of ${leader!.uri}, and its first sample is presented ${((first - its.first) * 1000).toFixed(0)} ms after`,
          );
      }
    }
    for (const { by, uri, n, part } of reported) {
      const other = renditions.find((one) => one.uri === uri);
      expect(other !== undefined, () => `${by}: a report of ${uri}, which is not offered`);
      const segment = other?.seen.get(n);
      const last = Math.max(0, ...(other?.seen.keys() ?? []));
      // The run may have ended before that segment was loaded.
      if (other === undefined || n >= last) continue;
      expect(
        segment !== undefined && (part < 0 || segment.parts.length === 0 || part < segment.parts.length),
        () => `${by}: ${uri} is reported to have part ${n}.${part}`,
      );
    }
    for (const { uri } of renditions)
      for (const by of renditions)
        if (by.uri !== uri)
          expect(
            reported.some((one) => one.by === by.uri && one.uri === uri),
            () => `${by.uri}: no report of ${uri}`,
          );
  }

  function bandwidthsOf({ uri, attributes }: (typeof variants)[number]): HlsCheck["variants"][number] {
    const parts = [
      renditions.find((one) => one.uri === uri)!,
      ...renditions.filter(({ kind }) => kind === "audio").slice(0, 1),
    ].map(({ measured }) => measured);
    const sum = (of: (measured: Measured[]) => number) =>
      Math.round(parts.reduce((total, measured) => total + of(measured), 0));
    return {
      uri,
      bandwidth: Number(attributes["BANDWIDTH"]),
      averageBandwidth: Number(attributes["AVERAGE-BANDWIDTH"]),
      frameRate: Number(attributes["FRAME-RATE"]),
      measured: {
        peak: sum((measured) => Math.max(0, ...measured.map(({ octets, duration }) => (8 * octets) / duration))),
        average: sum(
          (measured) =>
            (8 * measured.reduce((total, { octets }) => total + octets, 0)) /
            measured.reduce((total, { duration }) => total + duration, 0),
        ),
      },
    };
  }
}

const fragmentsOf = (bytes: Buffer) =>
  readFragments(async (start, length) => bytes.subarray(start, start + length), bytes.length);

async function load(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${body.toString().slice(0, 200)}`);
  return body;
}

function reaches({ segments }: Playlist, { n, part }: { n: number; part: number }): boolean {
  const last = segments.at(-1)!;
  if (last.n !== n) return last.n > n;
  return last.uri !== undefined || last.parts.length > part;
}

const attributesOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^",]+))/g)].map(([, name, quoted, plain]) => [
      name!,
      quoted ?? plain!,
    ]),
  );

function readPlaylist(text: string, base: string): Playlist {
  const playlist: Playlist = {
    target: Number.NaN,
    partTarget: Number.NaN,
    control: {},
    sequence: 0,
    ended: false,
    segments: [],
    hint: undefined,
    reports: [],
  };
  const resolved = (uri: string) => new URL(uri, base).href;
  let discontinuity = 0;
  let init = "";
  const fresh = (): Segment => ({
    n: 0,
    uri: undefined,
    duration: 0,
    discontinuity,
    init,
    at: undefined,
    gap: false,
    parts: [],
  });
  let next = fresh();
  const push = (uri: string | undefined) => {
    playlist.segments.push({ ...next, uri, n: playlist.sequence + playlist.segments.length, discontinuity, init });
    next = fresh();
  };
  for (const line of text.split("\n")) {
    const [, tag = "", value = ""] = /^#(EXT[A-Z0-9-]*):?(.*)$/.exec(line) ?? [];
    if (tag === "EXT-X-TARGETDURATION") playlist.target = Number(value);
    else if (tag === "EXT-X-PART-INF") playlist.partTarget = Number(attributesOf(value)["PART-TARGET"]);
    else if (tag === "EXT-X-SERVER-CONTROL") playlist.control = attributesOf(value);
    else if (tag === "EXT-X-MEDIA-SEQUENCE") playlist.sequence = Number(value);
    else if (tag === "EXT-X-DISCONTINUITY-SEQUENCE") discontinuity = Number(value);
    else if (tag === "EXT-X-DISCONTINUITY") discontinuity++;
    else if (tag === "EXT-X-MAP") init = resolved(attributesOf(value)["URI"]!);
    else if (tag === "EXT-X-PROGRAM-DATE-TIME") next.at = Date.parse(value);
    else if (tag === "EXT-X-GAP") next.gap = true;
    else if (tag === "EXT-X-PART")
      next.parts.push({
        uri: resolved(attributesOf(value)["URI"]!),
        duration: Number(attributesOf(value)["DURATION"]),
        independent: attributesOf(value)["INDEPENDENT"] === "YES",
      });
    else if (tag === "EXTINF") next.duration = Number.parseFloat(value);
    else if (tag === "EXT-X-PRELOAD-HINT") playlist.hint = resolved(attributesOf(value)["URI"]!);
    else if (tag === "EXT-X-RENDITION-REPORT") playlist.reports.push(attributesOf(value));
    else if (tag === "EXT-X-ENDLIST") playlist.ended = true;
    else if (line !== "" && !line.startsWith("#")) push(resolved(line));
  }
  if (next.parts.length > 0) push(undefined);
  return playlist;
}
