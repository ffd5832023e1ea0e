import { s3Errors } from "./errors.ts";

/** Limits of the memory for XML bodies, in bytes. */
export interface BodyMemoryLimits {
  /** For all requests together. */
  total: number;
  /** For the requests to one account, so that one account cannot use up the total. */
  perAccount: number;
}

/** The memory of one request. */
export interface BodyMemoryLease {
  /** Counts bytes that have arrived. Throws slowDown if a limit would be exceeded. */
  reserve(bytes: number): void;
  /** Returns all bytes of the request. */
  release(): void;
}

/** Parsing a body needs several times its size in memory, which stays in use until the request ends. */
const DEFAULT_LIMITS: BodyMemoryLimits = { total: 32 * 1024 * 1024, perAccount: 16 * 1024 * 1024 };

/**
 * Limits the memory for XML bodies of concurrent requests. Requests above the limit are rejected instead of queued:
 * while waiting they would hold the data already received.
 */
export function createXmlBodyMemory({ total, perAccount }: BodyMemoryLimits = DEFAULT_LIMITS) {
  const byAccount = new Map<string, number>();
  let totalHeld = 0;
  return {
    open(account: string): BodyMemoryLease {
      let held = 0;
      const add = (bytes: number) => {
        held += bytes;
        totalHeld += bytes;
        const accountHeld = (byAccount.get(account) ?? 0) + bytes;
        if (accountHeld === 0) byAccount.delete(account);
        else byAccount.set(account, accountHeld);
      };
      return {
        reserve(bytes) {
          if (totalHeld + bytes > total || (byAccount.get(account) ?? 0) + bytes > perAccount)
            throw s3Errors.slowDown({ why: "too many large request bodies are being processed" });
          add(bytes);
        },
        release: () => add(-held),
      };
    },
  };
}
