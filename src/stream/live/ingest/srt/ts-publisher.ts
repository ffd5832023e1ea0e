import { createTsDemuxer, type TsStream, type TsUnit } from "../../../../protocol/mpegts/index.ts";
import type { LiveTracks, MediaPacket } from "../../packets.ts";
import type { Publication } from "../../publish.ts";
import { createStreamReader, type StreamReader } from "./stream-readers.ts";

/** Publishes a transport stream. Throws UserError liveCodecUnsupported if the broadcast is unsupported. */
interface TsPublisher {
  write(bytes: Buffer): void;
  end(): void;
}

/**
 * Audio and video are announced together: limits for waiting for the other track, in microseconds of the stream, octets
 * and packets.
 */
const MAX_WAIT_US = 2_000_000;
const MAX_OCTETS = 16 * 1024 * 1024;
const MAX_PACKETS = 2000;

export function createTsPublisher(publication: Pick<Publication, "configure" | "unsupported" | "write">): TsPublisher {
  const readers = new Map<number, StreamReader>();
  let tracks: LiveTracks = {};
  let isAnnounced = false;
  let pending: MediaPacket[] = [];
  let octets = 0;
  let base: number | undefined;
  const demuxer = createTsDemuxer({ streams: choose, unit });

  /**
   * Selects the first supported stream of each kind. A program whose only video or only audio is unsupported is
   * rejected.
   */
  function choose(streams: TsStream[]) {
    readers.clear();
    for (const kind of ["video", "audio"] as const) {
      const candidates = streams.flatMap((stream) => {
        const reader = createStreamReader(stream);
        return (reader?.kind ?? kindOf(stream)) === kind ? [{ stream, reader }] : [];
      });
      const chosenCandidate = candidates.find(({ reader }) => reader !== undefined);
      if (chosenCandidate?.reader !== undefined) readers.set(chosenCandidate.stream.pid, chosenCandidate.reader);
      else if (candidates.length > 0) throw publication.unsupported(kind, candidates[0]!.stream.name);
    }
    tracks = {};
    isAnnounced = false;
    pending = [];
    octets = 0;
  }

  function unit(unit: TsUnit) {
    const reader = readers.get(unit.stream.pid);
    const read = reader?.read(unit);
    if (reader === undefined || read === undefined) return;
    if ("unsupported" in read) throw publication.unsupported(reader.kind, read.unsupported);
    if (tracks[reader.kind] !== read.track) {
      tracks = { ...tracks, [reader.kind]: read.track };
      if (isAnnounced) publication.configure(tracks);
    }
    for (const packet of read.packets) {
      if (isAnnounced) publish(packet);
      else keepPending(packet);
    }
  }

  function keepPending(packet: MediaPacket) {
    pending.push(packet);
    octets += packet.data.length;
    const isComplete = [...readers.values()].every(({ kind }) => tracks[kind] !== undefined);
    if (isComplete || packet.dts - pending[0]!.dts > MAX_WAIT_US || octets > MAX_OCTETS || pending.length > MAX_PACKETS)
      announce();
  }

  function announce() {
    isAnnounced = true;
    publication.configure(tracks);
    base ??= Math.min(...pending.map(({ dts }) => dts));
    for (const packet of pending) publish(packet);
    pending = [];
    octets = 0;
  }

  function publish(packet: MediaPacket) {
    publication.write({ ...packet, dts: packet.dts - base!, pts: packet.pts - base! });
  }

  return { write: demuxer.write, end: demuxer.end };
}

const kindOf = ({ codec }: TsStream) =>
  codec === "other audio" ? "audio" : codec === "other video" ? "video" : undefined;
