import type { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import { HEAD_OCTETS, plainlyNoVideo } from "./plainly-no-video.ts";

/** What comes, as long as it may be a video and is not too large: its beginning is looked at before anything of it is passed on. Throws notAVideo, `tooLarge`. */
export async function* lookedAt(body: AsyncIterable<Uint8Array>, maxBytes: number, tooLarge: () => UserError, refuse: (head: Buffer, whole: boolean) => string | undefined = plainlyNoVideo): AsyncGenerator<Uint8Array> {
  let size = 0;
  let head: Uint8Array[] | undefined = [];
  const beginning = (whole: boolean) => {
    const bytes = Buffer.concat(head!);
    head = undefined;
    const reason = refuse(bytes.subarray(0, HEAD_OCTETS), whole && bytes.length <= HEAD_OCTETS);
    if (reason !== undefined) throw streamErrors.notAVideo({ reason });
    return bytes;
  };
  for await (const piece of body) {
    size += piece.length;
    if (size > maxBytes) throw tooLarge();
    if (head === undefined) {
      yield piece;
      continue;
    }
    head.push(piece);
    if (size >= HEAD_OCTETS) yield beginning(false);
  }
  if (head !== undefined) yield beginning(true);
}
