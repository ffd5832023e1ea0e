import { randomBytes, randomInt, randomUUID } from "node:crypto";

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

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

export const randomIds: Ids = {
  hex: () => randomBytes(16).toString("hex"),
  uuid: () => randomUUID(),
  token: (bytes = 32) => randomBytes(bytes).toString("base64url"),
  messageId: (domain) => {
    let local = "";
    for (let i = 0; i < 36; i++) local += ALPHANUMERIC[randomInt(ALPHANUMERIC.length)];
    return `<${local}@${domain}>`;
  },
};
