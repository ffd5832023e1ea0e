import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { UserError, messageOf, type Ids, type Log } from "../../kernel/index.ts";
import type { MailBuilderFields, EmailSendResult } from "../ports.ts";
import { drain } from "../bindings/body.ts";
import { readJsonBody, sendBindingError, sendJson } from "../bindings/http.ts";
import type { InboundMail, MailActions } from "./port.ts";

/**
 * The messages whose handlers are running. Code can act on a message only with its token, which exists only during that
 * dispatch: a worker can act only on its own live message.
 */
export interface LiveMessages {
  open(message: LiveMessage): string;
  close(token: string): void;
  /** Handles a request to the actions host. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

interface LiveMessage {
  mail: InboundMail;
  actions: MailActions;
  /** Called when the handler's waitUntil() promises have settled. */
  onSettled(): void;
}

/** 25 MiB of attachments in base64 and JSON, plus some overhead; the mail module enforces the exact limits. */
const MAX_MESSAGE_BYTES = 36 * 1024 * 1024;

export function createLiveMessages({ ids, log }: { ids: Ids; log: Log }): LiveMessages {
  const liveMessages = new Map<string, LiveMessage>();

  async function handleAction(actions: MailActions, request: IncomingMessage): Promise<EmailSendResult> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://actions");
    switch (pathname) {
      case "/forward": {
        // A worker can obtain its own token and bypass the wrapper code inside it, so only the shape of the request is
        // validated here.
        const forwardRequest = (await readJsonBody(request, MAX_MESSAGE_BYTES)) as {
          recipient?: unknown;
          headers?: unknown;
        } | null;
        const headers = Array.isArray(forwardRequest?.headers)
          ? forwardRequest.headers.map((field: unknown): [string, string] =>
              Array.isArray(field) ? [String(field[0]), String(field[1])] : ["", ""],
            )
          : [];
        return actions.forward(String(forwardRequest?.recipient), headers);
      }
      case "/reply":
        return actions.reply({ from: searchParams.get("from") ?? "", to: searchParams.get("to") ?? "", raw: request });
      case "/reply-built":
        return actions.replyBuilt((await readJsonBody(request, MAX_MESSAGE_BYTES)) as MailBuilderFields);
      default:
        throw new Error(`no such action: ${pathname}`);
    }
  }

  async function sendRaw(mail: InboundMail, response: ServerResponse) {
    const raw = mail.raw();
    response.writeHead(200, { "content-type": "message/rfc822", "content-length": mail.rawSize });
    if (!(raw instanceof Readable)) return void response.end(raw);
    // The worker may stop reading, which is not an error.
    await pipeline(raw, response).catch(() => {});
  }

  return {
    open(message) {
      const token = ids.token(18);
      liveMessages.set(token, message);
      return token;
    },
    close: (token) => void liveMessages.delete(token),
    async handle(request, response) {
      const message = liveMessages.get(String(request.headers["x-reelpost-message"]));
      if (message === undefined) {
        await drain(request, MAX_MESSAGE_BYTES);
        return sendJson(response, 410, {
          error: "This message can no longer be forwarded or answered: its event has ended",
        });
      }
      try {
        if (request.url === "/raw") return await sendRaw(message.mail, response);
        if (request.url === "/settled") {
          message.onSettled();
          return void response.writeHead(204).end();
        }
        sendJson(response, 200, await handleAction(message.actions, request));
      } catch (err) {
        if (!(err instanceof UserError)) log.error({ err }, `workers: message action failed: ${messageOf(err)}`);
        await sendBindingError(request, response, err);
      }
    },
  };
}
