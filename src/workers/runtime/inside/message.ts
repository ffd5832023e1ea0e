// A message as seen by the email handler, and the call that delivers it.
import { ACTIONS_HOST, META_HEADER, META_IN_BODY, RAW, TAIL_MARK, encodeMessageBuilder, resultOf } from "./shared.ts";

// Captured before the user's modules run, so that a worker that replaces globalThis.fetch does not break its own mail.
const nativeFetch = globalThis.fetch;

interface Meta {
  token: string;
  from: string;
  to: string;
  rawSize: number;
  headers: [string, string][];
  canBeForwarded: boolean;
}

/** Maximum length of texts from a handler; the server does not accept responses of unlimited length. */
const MAX_TEXT_LENGTH = 64 * 1024;

/** The handler's decisions about one message. */
interface Verdict {
  rejected?: string;
}

export class ForwardableMessage {
  readonly from: string;
  readonly to: string;
  readonly rawSize: number;
  readonly raw: ReadableStream;
  readonly canBeForwarded: boolean;
  #fields: [string, string][];
  #headers: Headers | undefined;
  #token: string;
  #verdict: Verdict;

  constructor(meta: Meta, raw: ReadableStream, verdict: Verdict) {
    this.from = meta.from;
    this.to = meta.to;
    this.rawSize = meta.rawSize;
    this.canBeForwarded = meta.canBeForwarded;
    this.#fields = meta.headers;
    this.#token = meta.token;
    this.#verdict = verdict;
    this.raw = raw;
  }

  /** Created on first use: each field costs a call into workerd, and many handlers read only `raw`. */
  get headers(): Headers {
    return (this.#headers ??= headersOf(this.#fields));
  }

  setReject(reason: string): void {
    this.#verdict.rejected = String(reason).slice(0, MAX_TEXT_LENGTH);
  }

  async forward(recipient: string, headers?: HeadersInit): Promise<EmailSendResult> {
    const body = JSON.stringify({ recipient, headers: headers === undefined ? [] : [...new Headers(headers)] });
    return this.#act("forward", body);
  }

  async reply(mail: unknown): Promise<EmailSendResult> {
    if (typeof mail === "object" && mail !== null && RAW in mail) {
      const {
        from,
        to,
        [RAW]: raw,
      } = mail as { from: string; to: string | null | undefined; [RAW]: string | ReadableStream };
      return this.#act(`reply?${new URLSearchParams({ from, to: to ?? this.from })}`, raw);
    }
    return this.#act("reply-built", encodeMessageBuilder(mail));
  }

  async #act(path: string, body: string | ReadableStream): Promise<EmailSendResult> {
    return resultOf(
      await nativeFetch(`http://${ACTIONS_HOST}/${path}`, {
        method: "POST",
        body,
        headers: { "x-reelpost-message": this.#token },
      }),
    );
  }
}

function headersOf(fields: [string, string][]): Headers {
  const headers = new Headers();
  for (const [name, value] of fields) {
    try {
      headers.append(name, value);
    } catch {
      // The Headers object rejects this name or value; `raw` still contains it.
    }
  }
  return headers;
}

/**
 * Opens a message. Short messages arrive whole: metadata in a header, raw message in the body. For long messages, the
 * body contains only the metadata, and the raw message is fetched; the part that is not read stays on the server.
 */
async function open(request: Request): Promise<{ meta: Meta; raw: ReadableStream }> {
  const metaHeader = request.headers.get(META_HEADER)!;
  if (metaHeader !== META_IN_BODY)
    return { meta: JSON.parse(metaHeader) as Meta, raw: request.body ?? new Blob([]).stream() };
  const meta = await request.json<Meta>();
  const response = await nativeFetch(`http://${ACTIONS_HOST}/raw`, { headers: { "x-reelpost-message": meta.token } });
  if (!response.ok || response.body === null)
    throw new Error(`The message could not be fetched: ${await response.text()}`);
  return { meta, raw: response.body };
}

// A promise with an unhandled rejection is not awaited, so the rejection is not an exception of the handler; it appears
// in the log of its event.
globalThis.addEventListener("unhandledrejection", (event) => {
  const { reason } = event as PromiseRejectionEvent;
  console.error("Unhandled promise rejection:", reason instanceof Error ? (reason.stack ?? String(reason)) : reason);
});

/** Number of console calls and waitUntil() calls in this isolate, for any event. */
let logCount = 0;
const { debug } = console;
for (const level of ["debug", "error", "info", "log", "trace", "warn"] as const) {
  const write = console[level];
  console[level] = (...args: unknown[]) => {
    logCount++;
    write(...args);
  };
}

type Context = Pick<ExecutionContext, "waitUntil">;

/**
 * Counts waitUntil() calls in addition to console calls, and passes their promises to the callback. Returns the current
 * count for answerWith().
 */
export function trackActivity(context: Context, onWaitUntil: (work: Promise<unknown>) => void = () => {}): number {
  const before = logCount;
  const waitUntil = context.waitUntil.bind(context);
  context.waitUntil = (work) => {
    logCount++;
    onWaitUntil(work);
    waitUntil(work);
  };
  return before;
}

/** Runs the handler for one message and returns the outcome. */
export async function dispatch(
  request: Request,
  context: Context,
  handle: (message: ForwardableMessage) => unknown,
  { alwaysTail = false, mayWaitUnobserved = false } = {},
): Promise<Response> {
  const verdict: Verdict = {};
  const work: Promise<unknown>[] = [];
  const waitUntil = context.waitUntil.bind(context);
  const before = trackActivity(context, (promise) => void work.push(promise));
  let token: string | undefined;
  const answer = await runHandler(async () => {
    const { meta, raw } = await open(request);
    ({ token } = meta);
    await handle(new ForwardableMessage(meta, raw, verdict));
  });
  const { rejected } = verdict;
  const isPending = mayWaitUnobserved || work.length > 0;
  if (token !== undefined && work.length > 0 && !mayWaitUnobserved) waitUntil(reportSettled(token, work));
  return answerWith(
    { ...answer, ...(rejected !== undefined && { rejected }), ...(isPending && { pending: true }) },
    before,
    alwaysTail,
  );
}

/**
 * Notifies the server when the waitUntil() promises have settled, including those added meanwhile. The tail may arrive
 * much later: a Durable Object that leaves the body of a request unread keeps the invocation open. If the call fails,
 * the server waits for the tail.
 */
async function reportSettled(token: string, work: Promise<unknown>[]): Promise<void> {
  while (work.length > 0) await Promise.allSettled(work.splice(0));
  await nativeFetch(`http://${ACTIONS_HOST}/settled`, {
    method: "POST",
    headers: { "x-reelpost-message": token },
  }).catch(() => {});
}

/**
 * Like dispatch(), for the scheduled handler, which ends after its waitUntil() work; failures in that work are reported
 * by the tail.
 */
export async function dispatchScheduled(
  request: Request,
  context: Context,
  handle: (controller: ScheduledController) => unknown,
  { alwaysTail = false } = {},
): Promise<Response> {
  const work: Promise<unknown>[] = [];
  const before = trackActivity(context, (promise) => void work.push(promise));
  const { cron, scheduledTime } = JSON.parse(request.headers.get(META_HEADER)!) as {
    cron: string;
    scheduledTime: number;
  };
  // Scheduled events are never retried, so noRetry() has no effect.
  const answer = await runHandler(() =>
    handle({ type: "scheduled", cron, scheduledTime, noRetry: () => {} } as ScheduledController),
  );
  while (work.length > 0) await Promise.allSettled(work.splice(0));
  return answerWith(answer, before, alwaysTail);
}

/**
 * `silent` guarantees that no tail will follow, which is true if nothing was logged meanwhile; otherwise a marker line
 * in the log ensures that one does. The usual response, a silent success, has no body, which saves JSON on both sides.
 */
export function answerWith(answer: { outcome: string }, before: number, alwaysTail: boolean): Response {
  const isSilent = logCount === before && !alwaysTail;
  if (!isSilent) debug(TAIL_MARK);
  const isPlainSuccess = answer.outcome === "ok" && Object.keys(answer).length === 1;
  return isSilent && isPlainSuccess ? new Response() : Response.json({ ...answer, silent: isSilent });
}

export async function runHandler(
  handle: () => unknown,
): Promise<{ outcome: "ok" } | { outcome: "exception"; exception: ReturnType<typeof describe> }> {
  try {
    await handle();
    return { outcome: "ok" };
  } catch (err) {
    return { outcome: "exception", exception: describe(err) };
  }
}

export const NO_HANDLER = "Handler does not export an email() function";
export const NO_SCHEDULED_HANDLER = "Handler does not export a scheduled() function";

function describe(err: unknown): { name: string; message: string; stack?: string } {
  const truncate = (text: unknown) => String(text).slice(0, MAX_TEXT_LENGTH);
  if (err instanceof Error)
    return {
      name: truncate(err.name),
      message: truncate(err.message),
      ...(err.stack !== undefined && { stack: truncate(err.stack) }),
    };
  return { name: "Error", message: truncate(err) };
}
