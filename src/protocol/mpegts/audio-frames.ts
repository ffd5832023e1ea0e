/** Time of an audio frame. */
export interface Timed {
  /**
   * Time of the packet, if this is the first frame that starts in it (ISO 13818-1, 2.4.3.7); undefined if the frame
   * follows the previous one.
   */
  pts: number | undefined;
}

interface AudioFrameSyntax<Frame> {
  /** Number of octets that `frameAt` needs. */
  header: number;
  /** Maximum number of octets buffered while a frame is incomplete. */
  maxBuffered: number;
  /** Returns the frame that starts at this offset; undefined if no frame starts there. */
  frameAt(bytes: Buffer, at: number): { frame: Frame; end: number } | "incomplete" | undefined;
}

/** Reads frames from packets with times, which may end within a frame. Skips octets that are not a frame. */
export function createAudioFrameReader<Frame>({
  header,
  maxBuffered,
  frameAt,
}: AudioFrameSyntax<Frame>): (bytes: Buffer, pts: number) => (Frame & Timed)[] {
  let rest: Buffer = Buffer.alloc(0);
  /** PTS of the frame that starts in `rest`. */
  let restPts: number | undefined;

  return (chunk, pts) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const carriedLength = rest.length;
    let ownPts: number | undefined = pts;
    const frames: (Frame & Timed)[] = [];
    let at = 0;
    while (at + header <= bytes.length) {
      const foundFrame = frameAt(bytes, at);
      if (foundFrame === "incomplete") break;
      if (foundFrame === undefined) {
        at++;
        continue;
      }
      frames.push({ ...foundFrame.frame, pts: at < carriedLength ? restPts : ownPts });
      if (at < carriedLength) restPts = undefined;
      else ownPts = undefined;
      at = foundFrame.end;
    }
    if (at >= carriedLength) restPts = ownPts;
    rest = bytes.length - at > maxBuffered ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
    return frames;
  };
}
