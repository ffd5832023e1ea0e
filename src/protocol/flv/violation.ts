/** Bytes are not valid FLV, or not a valid body of an RTMP audio or video message; the message describes the error. */
export class FlvError extends Error {
  override readonly name: string = "FlvError";
}
