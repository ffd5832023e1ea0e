import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../../kernel/index.ts";
import type { EmailOutcome, InboundMail } from "./port.ts";
import { META_HEADER } from "./inside/shared.ts";
import { DISPATCH_HEADER } from "./tail-items.ts";

/** What the mail entrypoint answers. */
export type Answer = Omit<EmailOutcome, "ended">;

export interface DispatchClient {
  /** Rejects when there is no answer: the process died, hung up, or `signal` was aborted. */
  send(id: string, token: string, mail: InboundMail, signal: AbortSignal): Promise<Answer>;
  close(): void;
}

/** Answers are small: an outcome and a stack. */
const ANSWER_LIMIT = 1024 * 1024;

/** A message's description travels in a header up to this many characters; past it, at the front of the body. */
const META_IN_HEADER = 32 * 1024;
const NOTHING = Buffer.alloc(0);

/** JSON in ASCII, fit for a header. */
const asciiJson = (value: unknown) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Speaks to the mail socket of one worker process. */
export function createDispatchClient({ socketPath, concurrency }: { socketPath: string; concurrency: number }): DispatchClient {
  // workerd closes a connection that was idle for 5 s (the pipelineTimeout of its HTTP library): ours goes first.
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency, timeout: 4000, scheduling: "lifo" });

  return {
    async send(id, token, mail, signal) {
      const meta = asciiJson({ token, from: mail.from, to: mail.to, rawSize: mail.rawSize, headers: mail.headers, canBeForwarded: mail.canBeForwarded });
      const inHeader = meta.length <= META_IN_HEADER;
      const prefix = inHeader ? NOTHING : Buffer.from(meta, "latin1");
      const headers = { host: "mail", [DISPATCH_HEADER]: id, [META_HEADER]: inHeader ? meta : meta.length, "content-length": prefix.length + mail.rawSize };
      for (let attempt = 1; ; attempt++) {
        const request = httpRequest({ socketPath, agent, method: "POST", path: "/", headers, signal });
        try {
          return await exchange(request, prefix, mail);
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

async function exchange(request: ReturnType<typeof httpRequest>, prefix: Buffer, mail: InboundMail): Promise<Answer> {
  const responded = new Promise<IncomingMessage>((resolve, reject) => request.once("response", resolve).once("error", reject));
  responded.catch(() => {});
  const raw = mail.raw();
  if (raw instanceof Readable) {
    if (prefix.length > 0) request.write(prefix);
    // A handler may answer without reading the message; what is left of it then has nowhere to go.
    pipeline(raw, request).catch(() => {});
  } else {
    request.end(prefix.length > 0 ? Buffer.concat([prefix, raw]) : raw);
  }
  return readAnswer(await responded);
}

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
  // workerd's own 500: the handler's promise can never resolve, or its module could not be run.
  return { outcome: "exception", exception: { name: "Error", message: body.trim() || `the worker answered with status ${response.statusCode}` } };
}
