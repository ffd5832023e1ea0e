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
const PATIENCE = 2_000_000;
const MAX_OCTETS = 16 * 1024 * 1024;
const MAX_PACKETS = 2000;

export function createTsPublisher(publication: Pick<Publication, "configure" | "unsupported" | "write">): TsPublisher {
  const readers = new Map<number, StreamReader>();
  let tracks: LiveTracks = {};
  let announced = false;
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
      const chosen = candidates.find(({ reader }) => reader !== undefined);
      if (chosen?.reader !== undefined) readers.set(chosen.stream.pid, chosen.reader);
      else if (candidates.length > 0) throw publication.unsupported(kind, candidates[0]!.stream.name);
    }
    tracks = {};
    announced = false;
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
      if (announced) publication.configure(tracks);
    }
    for (const packet of read.packets) {
      if (announced) publish(packet);
      else keep(packet);
    }
  }

  function keep(packet: MediaPacket) {
    pending.push(packet);
    octets += packet.data.length;
    const complete = [...readers.values()].every(({ kind }) => tracks[kind] !== undefined);
    if (complete || packet.dts - pending[0]!.dts > PATIENCE || octets > MAX_OCTETS || pending.length > MAX_PACKETS)
      announce();
  }

  function announce() {
    announced = true;
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
