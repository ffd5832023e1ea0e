import type { PartSpool } from "./spool.ts";

type PartSource = Pick<PartSpool, "take"> & Partial<Pick<PartSpool, "recycle">>;

/** Limits the number of parts that the uploads of a process hold in memory. */
export interface PartSender {
  /**
   * Waits for a free slot, takes the part out of the spool, and starts `send`. Resolves when the spool can be filled
   * again; `sent` settles with the result of `send`.
   */
  start<Result>(spool: PartSource, send: (bytes: Buffer) => Promise<Result>): Promise<{ sent: Promise<Result> }>;
}

const PARTS_IN_MEMORY = 8;

export function createPartSender(limit = PARTS_IN_MEMORY): PartSender {
  let inMemory = 0;
  const waiting: (() => void)[] = [];

  const release = () => {
    const next = waiting.shift();
    if (next) next();
    else inMemory--;
  };

  return {
    async start(spool, send) {
      if (inMemory < limit) inMemory++;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      let bytes: Buffer;
      try {
        bytes = await spool.take();
      } catch (err) {
        release();
        throw err;
      }
      const sent = send(bytes)
        .then((result) => {
          // After an error, a connection that is being closed may still read the bytes.
          spool.recycle?.(bytes);
          return result;
        })
        .finally(release);
      // The caller handles the rejection later.
      sent.catch(() => {});
      return { sent };
    },
  };
}
