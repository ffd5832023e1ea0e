/** Where a frame of sound stands in time. */
export interface Timed {
  /** That of the packet, where the frame is the first that begins in it (ISO 13818-1, 2.4.3.7); undefined: it follows the one before. */
  pts: number | undefined;
}

export interface SoundSyntax<Frame> {
  /** Octets that have to be there for `frameAt` to look at. */
  header: number;
  /** Octets that are held for a frame to be whole. */
  mostRest: number;
  /** Undefined: none begins there. */
  frameAt(bytes: Buffer, at: number): { frame: Frame; end: number } | "incomplete" | undefined;
}

/** Takes packets that may end within a frame, and their times. Octets that are none are skipped. */
export function createSoundFrames<Frame>({
  header,
  mostRest,
  frameAt,
}: SoundSyntax<Frame>): (bytes: Buffer, pts: number) => (Frame & Timed)[] {
  let rest: Buffer = Buffer.alloc(0);
  /** For the frame that has begun in `rest`. */
  let restPts: number | undefined;

  return (given, pts) => {
    const bytes = rest.length === 0 ? given : Buffer.concat([rest, given]);
    const border = rest.length;
    let ownPts: number | undefined = pts;
    const frames: (Frame & Timed)[] = [];
    let at = 0;
    while (at + header <= bytes.length) {
      const found = frameAt(bytes, at);
      if (found === "incomplete") break;
      if (found === undefined) {
        at++;
        continue;
      }
      frames.push({ ...found.frame, pts: at < border ? restPts : ownPts });
      if (at < border) restPts = undefined;
      else ownPts = undefined;
      at = found.end;
    }
    if (at >= border) restPts = ownPts;
    rest = bytes.length - at > mostRest ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
    return frames;
  };
}
