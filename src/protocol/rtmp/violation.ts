/** The peer does not speak RTMP, or exceeds a limit; the connection is unusable. The message says why. */
export class RtmpViolation extends Error {
  override readonly name: string = "RtmpViolation";
}
