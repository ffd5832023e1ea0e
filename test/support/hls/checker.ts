import { readFragments, readInit } from "../../../src/protocol/mp4/index.ts";
import { attributesOf, reaches, readPlaylist, type Playlist, type Segment } from "./playlist.ts";
import { bandwidthsOf, compareRenditions, type Bandwidths, type Rendition, type Report } from "./renditions.ts";
import { checkPlaylist, checkUpdate, ROUNDING_S, type Expect } from "./rules.ts";

/**
 * Plays a low-latency broadcast like a player and reports violations of draft-pantos-hls-rfc8216bis: it loads the
 * multivariant playlist, follows every rendition by blocking reloads, and requests every part as soon as a preload hint
 * names it.
 */
interface HlsCheck {
  /** Violations of the specification, as sentences. */
  findings: string[];
  playlists: number;
  segments: number;
  parts: number;
  /** Number of parts requested by preload hint. */
  hints: number;
  variants: Bandwidths[];
}

const MAX_FINDINGS = 20;

/** `counts` is updated during the check. */
export async function checkLowLatencyHls(
  manifest: string,
  signal: AbortSignal,
  counts = { playlists: 0, segments: 0, parts: 0, hints: 0 },
): Promise<HlsCheck> {
  const findings: string[] = [];
  const report = (text: string) => {
    const finding = text.replaceAll(/https?:\/\/\S+\/(manifest|segments)\/|\?\S*/g, "");
    if (findings.length < MAX_FINDINGS && !findings.includes(finding)) findings.push(finding);
  };
  const expect: Expect = (met, text) => void (met || report(text()));
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
  const reported: Report[] = [];
  await Promise.all(renditions.map(follow));
  compareRenditions(renditions, reported, expect);
  return { findings, ...counts, variants: variants.map((variant) => bandwidthsOf(variant, renditions)) };

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
      checkPlaylist(rendition.uri, playlist, expect);
      if (rendition.last !== undefined) checkUpdate(rendition.uri, rendition.last, playlist, expect);
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

  /** Checks that the hinted part comes next (4.4.5.3). */
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
}

const fragmentsOf = (bytes: Buffer) =>
  readFragments(async (start, length) => bytes.subarray(start, start + length), bytes.length);

async function load(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(120_000) });
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${body.toString().slice(0, 200)}`);
  return body;
}
