import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/** An incremental checksum in the encoding of the `x-amz-checksum-*` headers. */
export interface Checksum {
  update(bytes: Uint8Array): void;
  /** Base64. */
  digest(): string;
}

export type S3Checksum = "crc32" | "crc32c" | "crc64nvme" | "sha1" | "sha256";

/** Length of each checksum in bytes. */
export const CHECKSUM_BYTES: Record<S3Checksum, number> = { crc32: 4, crc32c: 4, crc64nvme: 8, sha1: 20, sha256: 32 };

export const isS3Checksum = (name: string): name is S3Checksum => Object.hasOwn(CHECKSUM_BYTES, name);

export function createChecksum(algorithm: S3Checksum): Checksum {
  if (algorithm === "sha1" || algorithm === "sha256") {
    const hash = createHash(algorithm);
    return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest("base64") };
  }
  if (algorithm === "crc64nvme") return createCrc64();
  let crc = 0;
  const update = algorithm === "crc32" ? crc32 : crc32c;
  return {
    update: (bytes) => void (crc = update(bytes, crc)),
    digest() {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(crc >>> 0);
      return bytes.toString("base64");
    },
  };
}

/** CRC-32C (RFC 3720 B.4), reflected polynomial 0x82F63B78. */
function crc32c(bytes: Uint8Array, previous: number): number {
  let crc = ~previous;
  // Indexing a typed array needs no check for holes, which matters in this hot loop.
  for (let i = 0; i < bytes.length; i++) crc = CRC32C[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const CRC32C = Int32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** CRC-64/NVME, reflected polynomial 0x9A6C9329AC4BC9B5, as two 32-bit halves: BigInt would be too slow. */
function createCrc64(): Checksum {
  let high = -1;
  let low = -1;
  return {
    update(bytes) {
      for (let i = 0; i < bytes.length; i++) {
        const index = (low ^ bytes[i]!) & 0xff;
        low = (low >>> 8) | ((high & 0xff) << 24);
        high >>>= 8;
        low ^= CRC64_LOW[index]!;
        high ^= CRC64_HIGH[index]!;
      }
    },
    digest() {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt32BE(~high >>> 0, 0);
      bytes.writeUInt32BE(~low >>> 0, 4);
      return bytes.toString("base64");
    },
  };
}

const CRC64_HIGH = new Int32Array(256);
const CRC64_LOW = new Int32Array(256);
for (let index = 0; index < 256; index++) {
  let crc = BigInt(index);
  for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ 0x9a6c9329ac4bc9b5n : crc >> 1n;
  CRC64_HIGH[index] = Number(BigInt.asIntN(32, crc >> 32n));
  CRC64_LOW[index] = Number(BigInt.asIntN(32, crc));
}
