/** The other side does not speak RTMP, or asks for more than it may have; the connection is of no more use. The message says what it did. */
export class RtmpViolation extends Error {
  override readonly name: string = "RtmpViolation";
}
