import type { Sendable, DeliveryContext } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import type { HotSegments } from "../../playback/index.ts";
import type { Broadcast } from "./broadcast.ts";
import { checkBroadcastId } from "./marks.ts";
import type { TrackSegment } from "./track.ts";
import { waitFor } from "./waiting.ts";

export interface SendableSegment extends Pick<Sendable, "size" | "read"> {
  bytes(): Promise<Buffer>;
  version?: string;
}

interface LiveSegmentHandlerDeps {
  packages: { of(video: string): Broadcast | undefined };
  stored(
    video: string,
    rendition: string,
    segmentOrRun: number | { run: string },
  ): Promise<SendableSegment | undefined>;
  hot: HotSegments;
}

/** An announced part arrives within a few hundred milliseconds or not at all. */
const PART_WAIT_MS = 5000;

/** Segments, parts and init segments: from memory while a broadcast is live, later from storage. */
export function createLiveSegmentHandler({
  packages,
  stored,
  hot,
}: LiveSegmentHandlerDeps): (viewing: DeliveryContext) => Promise<void> {
  return async (viewing) => {
    const {
      video: { uid },
      params: { rendition = "", file = "" },
    } = viewing;
    checkBroadcastId(viewing);
    const broadcast = packages.of(uid);
    const requestedFile = RENDITION.test(rendition) ? parseSegmentFile(file) : undefined;
    const segmentBytes =
      requestedFile &&
      ((broadcast && (await fromMemory(broadcast, rendition, requestedFile, viewing))) ??
        (await fromStore(uid, rendition, requestedFile)));
    if (viewing.response.destroyed) return;
    if (segmentBytes === undefined) throw streamErrors.segmentNotFound({ segment: file, rendition });
    await viewing.sendObject(segmentBytes, {
      type: rendition.startsWith("audio") ? "audio/mp4" : "video/mp4",
      cache: "immutable",
    });
  };

  async function fromStore(
    uid: string,
    rendition: string,
    requestedFile: RequestedFile,
  ): Promise<Sendable | undefined> {
    if (requestedFile.part !== undefined) return undefined;
    const key = `${uid}/${rendition}/${requestedFile.run ?? requestedFile.n}`;
    const hotSegment = hot.get(key);
    if (hotSegment !== undefined) return hotSegment;
    const piece = await stored(
      uid,
      rendition,
      requestedFile.run === undefined ? requestedFile.n! : { run: requestedFile.run },
    );
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
  viewing: DeliveryContext,
): Promise<Sendable | undefined> {
  if (part === undefined) return toSendable(segmentInMemory(broadcast, rendition, run === undefined ? n! : { run }));
  const segment = () => broadcast.recent.find(rendition, n!);
  // A request for an announced part waits until the part is available (rfc8216bis 6.2.6). Other requests do not wait.
  if (isPartAnnounced(broadcast, rendition, n!, part))
    await waitFor(broadcast, () => segment()?.parts[part] !== undefined || segment()?.isComplete === true, {
      ms: PART_WAIT_MS,
      signal: viewing.signal,
    });
  return toSendable(segment()?.parts[part]?.bytes ?? []);
}

/**
 * Returns the octets of a complete segment, or of the init segment of a run. Empty if they are not or no longer in
 * memory, or if the rendition has a gap at this segment.
 */
export function segmentInMemory(
  { init, recent }: Pick<Broadcast, "init" | "recent">,
  rendition: string,
  segmentOrRun: number | { run: string },
): readonly Buffer[] {
  if (typeof segmentOrRun !== "number") return [init(rendition, segmentOrRun.run) ?? []].flat();
  const segment = recent.find(rendition, segmentOrRun);
  return segment?.isComplete === true ? segment.parts.flatMap(({ bytes }) => bytes) : [];
}

function isPartAnnounced({ recent }: Broadcast, rendition: string, n: number, part: number): boolean {
  const openSegment: TrackSegment | undefined = recent.of(rendition).at(-1);
  return (
    openSegment !== undefined && !openSegment.isComplete && openSegment.n === n && openSegment.parts.length === part
  );
}

/** Undefined if there are no octets. */
function toSendable(bytes: readonly Buffer[]): Sendable | undefined {
  if (bytes.length === 0) return undefined;
  const joinedBytes = bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes);
  return {
    size: joinedBytes.length,
    memory: joinedBytes,
    read: () => {
      throw new Error("the segment is held in memory and has no file: send `memory`");
    },
  };
}
