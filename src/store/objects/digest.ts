import { createHash, hash as hashAtOnce } from "node:crypto";
import type { PutOptions, StoredObject } from "./port.ts";

type DigestName = NonNullable<PutOptions["digests"]>[number];

/** Returns the sha256 and the requested digests of a buffer. */
export const digestOf = (bytes: Uint8Array, names: readonly DigestName[] = []): StoredObject => ({
  size: bytes.length,
  sha256: hashAtOnce("sha256", bytes, "hex"),
  digests: Object.fromEntries(names.map((name) => [name, hashAtOnce(name, bytes, "hex")])),
});

/** Creates the same for streamed bytes. */
export function createDigester(names: readonly DigestName[] = []) {
  const sha256 = createHash("sha256");
  const otherHashes = names.map((name) => ({ name, hash: createHash(name) }));
  let size = 0;
  return {
    size: () => size,
    update(chunk: Uint8Array) {
      size += chunk.length;
      sha256.update(chunk);
      for (const { hash } of otherHashes) hash.update(chunk);
    },
    finish: (): StoredObject => ({
      size,
      sha256: sha256.digest("hex"),
      digests: Object.fromEntries(otherHashes.map(({ name, hash }) => [name, hash.digest("hex")])),
    }),
  };
}
