import { crc32, deflateSync } from "node:zlib";

/** Returns a chunk as specified in PNG 5.3, with a valid checksum. */
export function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(data.length);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, tail]);
}

export function header(width: number, height: number, { depth = 8, colour = 6, interlace = 0 } = {}): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([depth, colour, 0, 0, interlace], 8);
  return chunk("IHDR", data);
}

export const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
export const END = chunk("IEND", Buffer.alloc(0));

/** Returns an image, one half of which is red. All of it is semitransparent. */
export function png(
  width: number,
  height: number,
  { pixels, between = [] }: { pixels?: Buffer; between?: Buffer[] } = {},
): Buffer {
  const rows =
    pixels ??
    Buffer.concat(
      Array.from({ length: height }, () =>
        Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 4, Buffer.from([200, 0, 0, 128]))]),
      ),
    );
  return Buffer.concat([SIGNATURE, header(width, height), ...between, chunk("IDAT", deflateSync(rows)), END]);
}
