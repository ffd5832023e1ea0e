/** Bytes are no FLV, or no body of an audio or video message of RTMP; the message says what is wrong. */
export class FlvError extends Error {
  override readonly name: string = "FlvError";
}
