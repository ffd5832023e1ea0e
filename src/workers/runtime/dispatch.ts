import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { messageOf } from "../../kernel/index.ts";
import type { EmailOutcome, InboundMail } from "./port.ts";
import { DISPATCH_HEADER, META_HEADER, META_IN_BODY } from "./inside/shared.ts";

/** What the mail entrypoint answers. */
export type Answer = Omit<EmailOutcome, "ended"> & {
  /** Nothing was logged and nothing goes on: no tail will come. */
  silent?: boolean;
};

export interface DispatchClient {
  /** Rejects when there is no answer: the process died, hung up, or `signal` was aborted. */
  send(id: string, token: string, mail: InboundMail, signal: AbortSignal): Promise<Answer>;
  close(): void;
}

/** Answers are small: an outcome and a stack. */
const ANSWER_LIMIT = 1024 * 1024;

/**
 * A message up to this many octets goes along with its dispatch; a longer one is fetched by the worker when it is read, since many are only
 * forwarded. workerd takes in 64 KiB of a body that nobody reads and then hangs up, which the shorter ones must not run into.
 */
const ALONG = 48 * 1024;

/** JSON in ASCII, fit for a header. */
const asciiJson = (value: unknown) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Speaks to the mail socket of one worker process. */
export function createDispatchClient({ socketPath, concurrency }: { socketPath: string; concurrency: number }): DispatchClient {
  // workerd closes a connection that was idle for 5 s (the pipelineTimeout of its HTTP library): ours goes first.
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency, timeout: 4000, scheduling: "lifo" });

  return {
    async send(id, token, mail, signal) {
      const meta = asciiJson({ token, from: mail.from, to: mail.to, rawSize: mail.rawSize, headers: mail.headers, canBeForwarded: mail.canBeForwarded });
      const along = mail.rawSize + meta.length <= ALONG;
      const body = along ? await bytesOf(mail.raw()) : Buffer.from(meta, "latin1");
      const headers = { host: "mail", [DISPATCH_HEADER]: id, [META_HEADER]: along ? meta : META_IN_BODY, "content-length": body.length };
      for (let attempt = 1; ; attempt++) {
        const request = httpRequest({ socketPath, agent, method: "POST", path: "/", headers, signal });
        try {
          const responded = new Promise<IncomingMessage>((resolve, reject) => request.once("response", resolve).once("error", reject));
          request.end(body);
          return await readAnswer(await responded);
        } catch (err) {
          // A kept connection that the other side closed at the same moment: the request was never read.
          const stale = request.reusedSocket && (err as NodeJS.ErrnoException).code === "ECONNRESET" && attempt === 1;
          if (!stale || signal.aborted) throw err;
        }
      }
    },
    close: () => agent.destroy(),
  };
}

const bytesOf = async (raw: Readable | Uint8Array): Promise<Uint8Array> => (raw instanceof Readable ? buffer(raw) : raw);

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  let body = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) {
    if (body.length > ANSWER_LIMIT) throw new Error("the worker's answer is too long");
    body += chunk;
  }
  try {
    if (response.statusCode === 200) return JSON.parse(body) as Answer;
  } catch (err) {
    throw new Error(`unreadable answer from the worker: ${messageOf(err)}`, { cause: err });
  }
  // workerd's own 500, which says nothing; the reason comes with the tail.
  return { outcome: "exception" };
}
