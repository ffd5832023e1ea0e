/** The peer does not speak RTMP, or exceeds a limit. The connection is unusable; the error message gives the reason. */
export class RtmpViolation extends Error {
  override readonly name: string = "RtmpViolation";
}
