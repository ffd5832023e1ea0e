import { randomBytes, randomUUID } from "node:crypto";

/** Generates all identifiers of the platform. Injected, so that tests can predict them. */
export interface Ids {
  /** 32 lower-case hex digits: the id format of the v4 API. */
  hex(): string;
  /** RFC 9562 version 4. */
  uuid(): string;
  /** Returns an unguessable bearer value in base64url, with `bytes` of entropy (default 32). */
  token(bytes?: number): string;
  /** `<36 alphanumerics@domain>`, the format that send(), forward() and reply() return. */
  messageId(domain: string): string;
  /**
   * Returns a token of 32 hex digits for a lease. It begins with the first 16 digits of the node's id, which identify
   * the holder. Default: `hex`.
   */
  lease?(): string;
}

/** Returns a new token for a lease. */
export const leaseToken = (ids: Pick<Ids, "hex" | "lease">): string => ids.lease?.() ?? ids.hex();

/** Returns ids whose lease tokens begin with this node id. */
export const idsOfNode = (ids: Ids, node: string): Ids => ({
  ...ids,
  lease: () => node.slice(0, 16) + ids.hex().slice(16),
});

/**
 * True for the format of `Ids.hex`. Any other text is not an id and is never looked up: it may contain U+0000, which
 * PostgreSQL rejects.
 */
export const isHexId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** The largest multiple of 62 below 256: larger bytes would bias the result towards the first letters. */
const UNBIASED_LIMIT = 248;

/** Random bytes in bulk: one system call per id would dominate the cost of creating ids. */
function createRandomPool(size = 8192): (bytes: number) => Buffer {
  let pool = Buffer.alloc(0);
  return (bytes) => {
    if (bytes > pool.length) pool = randomBytes(Math.max(size, bytes));
    const takenBytes = pool.subarray(0, bytes);
    pool = pool.subarray(bytes);
    return takenBytes;
  };
}

function createRandomIds(): Ids {
  const random = createRandomPool();

  function alphanumeric(length: number): string {
    let text = "";
    while (text.length < length) {
      for (const byte of random(length - text.length)) if (byte < UNBIASED_LIMIT) text += ALPHANUMERIC[byte % 62];
    }
    return text;
  }

  return {
    hex: () => random(16).toString("hex"),
    uuid: () => randomUUID(),
    token: (bytes = 32) => random(bytes).toString("base64url"),
    messageId: (domain) => `<${alphanumeric(36)}@${domain}>`,
  };
}

export const randomIds: Ids = createRandomIds();
