/**
 * The bytes are not valid FLV, or not a valid body of an RTMP audio or video message; the error message gives the
 * reason.
 */
export class FlvError extends Error {
  override readonly name: string = "FlvError";
}
