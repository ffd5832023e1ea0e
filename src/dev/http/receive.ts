import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError, type Ids } from "../../kernel/index.ts";
import {
  mailErrors,
  mebibytes,
  readMessage,
  type HandlingResult,
  type MailSource,
  type ParsedMessage,
  type Receiver,
  type Spool,
} from "../../mail/index.ts";
import { ClientGone, readSmallBody, declaredLength, dropRest } from "./body.ts";
import { queryOf } from "./query.ts";
import { joinReplies, jsonReply, resultTextReply, send, textReply, TEXTS, type HttpReply } from "./replies.ts";
import { noSuchWorker } from "./worker-choice.ts";

/** A request to an HTTP endpoint for mail: the envelope is in the query, or in the From and To headers of the message. */
interface ReceiveRequest {
  form: "query" | "headers";
  /** The worker selected by path or host; `?worker=` overrides it. */
  worker: string;
  query: string;
  request: IncomingMessage;
  response: ServerResponse;
  /** False if the client waits for "100 Continue" before it sends the body. */
  continued: boolean;
}

/** Responds to the request. Rejects only on an internal error. */
export type Receive = (request: ReceiveRequest) => Promise<void>;

interface Options {
  receiver: Pick<Receiver, "dispatch">;
  spool: Spool;
  workers: readonly string[];
  /** Why a worker cannot run; undefined if it can. */
  unavailable: (worker: string) => string | undefined;
  ids: Pick<Ids, "hex" | "messageId">;
  /** Bodies up to this size are collected without a spool file. Default 256 KiB. */
  inMemory?: number;
}

/** RFC 5321 4.5.3.1.8: a server accepts at least 100 recipients. */
const MAX_RECIPIENTS = 100;

export function createReceive({ receiver, spool, workers, unavailable, ids, inMemory = 256 * 1024 }: Options): Receive {
  /** Reads the body. Undefined if it is empty. */
  async function readBody({ request, response, continued }: ReceiveRequest): Promise<MailSource | undefined> {
    const length = declaredLength(request);
    if (length === 0) return undefined;
    if (length !== undefined && length > spool.maxBytes)
      throw mailErrors.messageTooLarge({ limit: mebibytes(spool.maxBytes) });
    if (!continued) response.writeContinue();
    if (length !== undefined && length <= inMemory) return spool.fromMemory(await readSmallBody(request));
    // The connection must survive an early rejection, so that the client can read the response. Node has already copied
    // the chunks.
    const source = await spool.collect(request.iterator({ destroyOnReturn: false }), { ownsChunks: true });
    return source.size === 0 ? undefined : source;
  }

  async function answerQueryForm(received: ReceiveRequest): Promise<HttpReply> {
    const { from, to, format, worker = received.worker } = queryOf(received.query);
    const refusal = refusalFor(worker);
    if (refusal !== undefined) return refusal;
    if (!from || !to) return textReply(400, TEXTS.incomplete);
    const source = await readBody(received);
    if (source === undefined) return textReply(400, TEXTS.incomplete);
    const message = await readOrDiscard(source);
    if (message.messageId === undefined) {
      await source.discard();
      return textReply(400, TEXTS.noMessageId);
    }
    const isJson = format === "json";
    const handledMail = await receiver.dispatch({ script: worker, from, to, message, keepReplies: isJson });
    return isJson ? jsonReply(handledMail) : resultTextReply(handledMail);
  }

  async function answerHeadersForm(received: ReceiveRequest): Promise<HttpReply> {
    const { format, worker = received.worker } = queryOf(received.query);
    const refusal = refusalFor(worker);
    if (refusal !== undefined) return refusal;
    const source = await readBody(received);
    if (source === undefined)
      return textReply(
        400,
        "Invalid email. The body must be a complete message: headers including From and To, an empty line, and the text",
      );
    const message = await readOrDiscard(source);
    const [from] = message.from;
    const recipients = [...new Set(message.to.map(({ address }) => address))];
    if (from === undefined || recipients.length === 0 || recipients.length > MAX_RECIPIENTS) {
      await source.discard();
      if (from === undefined) return textReply(400, missingFieldTextOf("From", message));
      if (recipients.length === 0) return textReply(400, missingFieldTextOf("To", message));
      return textReply(
        400,
        `Invalid email. The To header has ${recipients.length} recipients; the maximum is ${MAX_RECIPIENTS}`,
      );
    }
    const completeSource =
      message.messageId === undefined ? await withMessageId(source, ids.messageId(from.domain)) : source;
    const json = format === "json";
    const results: { to: string; handled: HandlingResult }[] = [];
    for (const [i, copy] of shareSource(completeSource, recipients.length, ids).entries()) {
      const to = recipients[i]!;
      results.push({
        to,
        handled: await receiver.dispatch({
          script: worker,
          from: from.address,
          to,
          message: readMessage(copy),
          keepReplies: json,
        }),
      });
    }
    return joinReplies(results, json);
  }

  async function readOrDiscard(source: MailSource): Promise<ParsedMessage> {
    try {
      return readMessage(source);
    } catch (err) {
      await source.discard();
      throw err;
    }
  }

  /** Submission servers add a missing Message-ID (RFC 6409 8.3), and this form acts as a submission server. */
  async function withMessageId(source: MailSource, messageId: string): Promise<MailSource> {
    const raw = source.open();
    const completedSource = await spool.collect(raw instanceof Uint8Array ? oneChunk(raw) : raw, {
      prefix: `Message-ID: ${messageId}\r\n`,
    });
    await source.discard();
    return completedSource;
  }

  return async (received) => {
    const { request, response } = received;
    let reply: HttpReply;
    try {
      reply = await (received.form === "query" ? answerQueryForm(received) : answerHeadersForm(received));
    } catch (err) {
      if (err instanceof ClientGone || request.socket.destroyed) return void response.destroy();
      if (!(err instanceof UserError)) throw err;
      reply = textReply(err.entry.http, refusalText(err));
    }
    const early = !request.complete;
    send(response, reply, early);
    if (early) dropRest(request);
  };

  function refusalFor(worker: string): HttpReply | undefined {
    if (!workers.includes(worker)) return textReply(404, noSuchWorker(worker, workers));
    const unavailableReason = unavailable(worker);
    return unavailableReason === undefined ? undefined : textReply(503, unavailableReason);
  }
}

const refusalText = (err: UserError) =>
  err.kind === "cannotParse" ? TEXTS.unparsable("Error", String(err.details.why)) : err.message;

const missingFieldTextOf = (field: "From" | "To", message: ParsedMessage) =>
  `Invalid email. The message has no ${field} header with an address; ${field === "From" ? "the sender" : "the recipient"} is read from this header` +
  (message.fields.length === 0
    ? ". It has no headers: a message starts with headers, followed by an empty line and the text"
    : "");

async function* oneChunk(bytes: Uint8Array) {
  yield bytes;
}

/** Creates one source per dispatch, each with its own id; discarding the last one frees the message. */
function shareSource(source: MailSource, count: number, ids: Pick<Ids, "hex">): MailSource[] {
  let remaining = count;
  const discard = async () => {
    if (--remaining === 0) await source.discard();
  };
  return Array.from({ length: count }, (_, i) => ({ ...source, id: i === 0 ? source.id : ids.hex(), discard }));
}
