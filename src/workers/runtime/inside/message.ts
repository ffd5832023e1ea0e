// A message as the email handler sees it, and the call that hands it over. Shared by both script formats.
import { ACTIONS_HOST, META_HEADER, RAW, encodeBuilder, resultOf } from "./shared.ts";

// Taken before the user's modules run: a worker that replaces globalThis.fetch does not break its own mail.
const ask = globalThis.fetch;

interface Meta {
  token: string;
  from: string;
  to: string;
  rawSize: number;
  headers: [string, string][];
  canBeForwarded: boolean;
}

/** Everything said about one message while its handler runs. */
interface Verdict {
  rejected?: string;
}

export class ForwardableMessage {
  readonly from: string;
  readonly to: string;
  readonly rawSize: number;
  readonly raw: ReadableStream;
  readonly headers: Headers;
  readonly canBeForwarded: boolean;
  #token: string;
  #verdict: Verdict;

  constructor(meta: Meta, raw: ReadableStream, verdict: Verdict) {
    this.from = meta.from;
    this.to = meta.to;
    this.rawSize = meta.rawSize;
    this.raw = raw;
    this.headers = headersOf(meta.headers);
    this.canBeForwarded = meta.canBeForwarded;
    this.#token = meta.token;
    this.#verdict = verdict;
  }

  setReject(reason: string): void {
    this.#verdict.rejected = String(reason);
  }

  async forward(recipient: string, headers?: HeadersInit): Promise<EmailSendResult> {
    const body = JSON.stringify({ recipient, headers: headers === undefined ? [] : [...new Headers(headers)] });
    return this.#act("forward", body);
  }

  async reply(mail: unknown): Promise<EmailSendResult> {
    if (typeof mail === "object" && mail !== null && RAW in mail) {
      const { from, to, [RAW]: raw } = mail as { from: string; to: string; [RAW]: string | ReadableStream };
      return this.#act(`reply?${new URLSearchParams({ from, to })}`, raw);
    }
    return this.#act("reply-built", encodeBuilder(mail));
  }

  async #act(path: string, body: string | ReadableStream): Promise<EmailSendResult> {
    return resultOf(await ask(`http://${ACTIONS_HOST}/${path}`, { method: "POST", body, headers: { "x-reelpost-message": this.#token } }));
  }
}

function headersOf(fields: [string, string][]): Headers {
  const headers = new Headers();
  for (const [name, value] of fields) {
    try {
      headers.append(name, value);
    } catch {
      // Not a name or value that a Headers object can hold; `raw` still has it.
    }
  }
  return headers;
}

/** The server's description of the message: in a header when it is short, else ahead of the raw message in the body. */
async function open(request: Request): Promise<{ meta: Meta; raw: ReadableStream }> {
  const body = request.body as ReadableStream<Uint8Array>;
  const described = request.headers.get(META_HEADER)!;
  if (!/^\d+$/.test(described)) return { meta: JSON.parse(described) as Meta, raw: body };
  const length = Number(described);
  const reader = body.getReader({ mode: "byob" });
  const { value } = await reader.readAtLeast(length, new Uint8Array(length));
  reader.releaseLock();
  // A stream that was read from is refused as the body of a Response; its continuation through a pipe is not.
  return { meta: JSON.parse(new TextDecoder().decode(value)) as Meta, raw: body.pipeThrough(new IdentityTransformStream()) };
}

/** Runs the handler on one message and says how it went. */
export async function dispatch(request: Request, handle: (message: ForwardableMessage) => unknown): Promise<Response> {
  const verdict: Verdict = {};
  try {
    const { meta, raw } = await open(request);
    await handle(new ForwardableMessage(meta, raw, verdict));
    return Response.json({ outcome: "ok", rejected: verdict.rejected });
  } catch (thrown) {
    return Response.json({ outcome: "exception", rejected: verdict.rejected, exception: describe(thrown) });
  }
}

export const NO_HANDLER = "Handler does not export an email() function";

function describe(thrown: unknown): { name: string; message: string; stack?: string } {
  if (thrown instanceof Error) return { name: thrown.name, message: thrown.message, stack: thrown.stack };
  return { name: "Error", message: typeof thrown === "string" ? thrown : String(thrown) };
}
