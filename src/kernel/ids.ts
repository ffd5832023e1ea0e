import { randomBytes, randomUUID } from "node:crypto";

/** Every identifier the platform makes. Injected, so that tests can predict them. */
export interface Ids {
  /** 32 lowercase hex digits: the id form of the v4 API. */
  hex(): string;
  /** RFC 9562 version 4. */
  uuid(): string;
  /** An unguessable bearer value, base64url, `bytes` of entropy (default 32). */
  token(bytes?: number): string;
  /** `<36 alphanumerics@domain>`, the form that send(), forward() and reply() return. */
  messageId(domain: string): string;
}

/** Whether it is of the form of `Ids.hex`. What is not never was an id, and may hold what PostgreSQL takes for no text: it is not looked for. */
export const isHexId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** The largest multiple of 62 below 256: bytes from here on would make the first letters likelier. */
const UNBIASED = 248;

/** Ids are made several times a message, and asking the kernel for each costs more than all the rest of it. */
function createRandomPool(size = 8192): (bytes: number) => Buffer {
  let pool = Buffer.alloc(0);
  return (bytes) => {
    if (bytes > pool.length) pool = randomBytes(Math.max(size, bytes));
    const taken = pool.subarray(0, bytes);
    pool = pool.subarray(bytes);
    return taken;
  };
}

function createRandomIds(): Ids {
  const random = createRandomPool();

  function alphanumeric(length: number): string {
    let text = "";
    while (text.length < length) {
      for (const byte of random(length - text.length)) if (byte < UNBIASED) text += ALPHANUMERIC[byte % 62];
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
