import type { Sendable, Viewing } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import type { HotSegments } from "../../playback/index.ts";
import type { Broadcast } from "./broadcast.ts";
import { checkMark } from "./marks.ts";
import type { TrackSegment } from "./track.ts";
import { waitFor } from "./waiting.ts";

export interface StoredSegment extends Pick<Sendable, "size" | "read"> {
  bytes(): Promise<Buffer>;
  version?: string;
}

interface LiveSegmentHandlerDeps {
  packages: { of(video: string): Broadcast | undefined };
  stored(video: string, rendition: string, what: number | { run: string }): Promise<StoredSegment | undefined>;
  hot: HotSegments;
}

/** An announced part arrives within a few hundred milliseconds or not at all. */
const PART_MS = 5000;

/** Segments, parts and init segments: from memory while a broadcast is live, later from storage. */
export function createLiveSegmentHandler({
  packages,
  stored,
  hot,
}: LiveSegmentHandlerDeps): (viewing: Viewing) => Promise<void> {
  return async (viewing) => {
    const {
      video: { uid },
      params: { rendition = "", file = "" },
    } = viewing;
    checkMark(viewing);
    const broadcast = packages.of(uid);
    const wanted = RENDITION.test(rendition) ? parseSegmentFile(file) : undefined;
    const found =
      wanted &&
      ((broadcast && (await fromMemory(broadcast, rendition, wanted, viewing))) ??
        (await fromStore(uid, rendition, wanted)));
    if (viewing.response.destroyed) return;
    if (found === undefined) throw streamErrors.segmentNotFound({ segment: file, rendition });
    await viewing.sendObject(found, {
      type: rendition.startsWith("audio") ? "audio/mp4" : "video/mp4",
      cache: "immutable",
    });
  };

  async function fromStore(uid: string, rendition: string, wanted: RequestedFile): Promise<Sendable | undefined> {
    if (wanted.part !== undefined) return undefined;
    const key = `${uid}/${rendition}/${wanted.run ?? wanted.n}`;
    const known = hot.get(key);
    if (known !== undefined) return known;
    const piece = await stored(uid, rendition, wanted.run === undefined ? wanted.n! : { run: wanted.run });
    return piece && ((await hot.offer(key, piece)) ?? piece);
  }
}

interface RequestedFile {
  run?: string;
  n?: number;
  part?: number;
}

/** Names become object keys: only valid rendition names are accepted. */
const RENDITION = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** `init-<run>.mp4`, `<n>.m4s`, `<n>.<part>.m4s`. */
export function parseSegmentFile(file: string): RequestedFile | undefined {
  const [, run, n, part] =
    /^(?:init-([0-9a-f]{32})\.mp4|(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,5}))?\.m4s)$/.exec(file) ?? [];
  if (run !== undefined) return { run };
  return n === undefined ? undefined : { n: Number(n), ...(part !== undefined && { part: Number(part) }) };
}

async function fromMemory(
  broadcast: Broadcast,
  rendition: string,
  { run, n, part }: RequestedFile,
  viewing: Viewing,
): Promise<Sendable | undefined> {
  if (run !== undefined) {
    const init = broadcast.init(rendition, run);
    return init && inMemory([init]);
  }
  const segment = () => broadcast.recent.find(rendition, n!);
  if (part === undefined)
    return segment()?.isComplete === true ? inMemory(segment()!.parts.flatMap(({ bytes }) => bytes)) : undefined;
  // A request for an announced part waits until the part is available (rfc8216bis 6.2.6). Other requests do not wait.
  if (announced(broadcast, rendition, n!, part))
    await waitFor(broadcast, () => segment()?.parts[part] !== undefined || segment()?.isComplete === true, {
      ms: PART_MS,
      signal: viewing.signal,
    });
  const bytes = segment()?.parts[part]?.bytes;
  return bytes && inMemory(bytes);
}

function announced({ recent }: Broadcast, rendition: string, n: number, part: number): boolean {
  const open: TrackSegment | undefined = recent.of(rendition).at(-1);
  return open !== undefined && !open.isComplete && open.n === n && open.parts.length === part;
}

/** Empty: the rendition has a gap at this segment. */
function inMemory(bytes: readonly Buffer[]): Sendable | undefined {
  if (bytes.length === 0) return undefined;
  const memory = bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes);
  return {
    size: memory.length,
    memory,
    read: () => {
      throw new Error("the segment is held in memory and has no file: send `memory`");
    },
  };
}
