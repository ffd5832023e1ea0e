import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { messageOf } from "../../kernel/index.ts";
import { createHttpClient } from "./http-client.ts";
import { DISPATCH_HEADER, META_HEADER, META_IN_BODY } from "./inside/shared.ts";
import type { EmailOutcome, InboundMail } from "./port.ts";

/** What the mail entrypoint answers. */
export type Answer = Omit<EmailOutcome, "ended"> & {
  /** Nothing was logged and nothing goes on: no tail will come. */
  silent?: boolean;
};

export interface DispatchClient {
  /** Rejects when there is no answer: the process died or hung up. Resolves with undefined when `wallMs` have passed. */
  send(id: string, token: string, mail: InboundMail, wallMs: number): Promise<Answer | undefined>;
  close(): void;
}

/**
 * A message up to this many octets goes along with its dispatch; a longer one is fetched by the worker. workerd takes in 64 KiB of a body
 * that nobody reads and then hangs up, which the shorter ones must not run into.
 */
const ALONG = 48 * 1024;

/** JSON in ASCII, fit for a header. */
const asciiJson = (value: unknown) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Speaks to the mail socket of one worker process. */
export function createDispatchClient({ socketPath, concurrency }: { socketPath: string; concurrency: number }): DispatchClient {
  const client = createHttpClient({ socketPath, maxConnections: concurrency });

  return {
    async send(id, token, mail, wallMs) {
      const meta = asciiJson({ token, from: mail.from, to: mail.to, rawSize: mail.rawSize, headers: mail.headers, canBeForwarded: mail.canBeForwarded });
      const along = mail.rawSize + meta.length <= ALONG;
      const body = along ? await bytesOf(mail.raw()) : Buffer.from(meta, "latin1");
      const exchange = client.post({ [DISPATCH_HEADER]: id, [META_HEADER]: along ? meta : META_IN_BODY }, body);
      const tooLate = new Error("too late");
      const timer = setTimeout(() => exchange.abandon(tooLate), wallMs);
      try {
        return read(await exchange.answer);
      } catch (err) {
        if (err === tooLate) return undefined;
        throw err;
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => client.close(),
  };
}

const bytesOf = async (raw: Readable | Uint8Array): Promise<Uint8Array> => (raw instanceof Readable ? buffer(raw) : raw);

function read({ status, body }: { status: number; body: string }): Answer {
  // workerd's own 500 says nothing; the reason comes with the tail.
  if (status !== 200) return { outcome: "exception" };
  try {
    return JSON.parse(body) as Answer;
  } catch (err) {
    throw new Error(`unreadable answer from the worker: ${messageOf(err)}`, { cause: err });
  }
}
