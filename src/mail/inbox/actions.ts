import type { Clock, Ids, Log } from "../../kernel/index.ts";
import { parseAddress } from "../../protocol/rfc5322/index.ts";
import type { MailBuilderFields } from "../../workers/ports.ts";
import { mailErrors } from "../errors.ts";
import { readMessage, type Spool } from "../messages/index.ts";
import { createSmtpRelease, type ReleaseResult } from "../outbound/index.ts";
import type { Receiver } from "../receive.ts";
import { composeMessage } from "./compose.ts";
import type { Inbox } from "./types.ts";

/** Actions on stored messages. */
export interface InboxActions {
  /**
   * Composes a message and passes it to the workers, as if it had arrived. Resolves with its id once they have handled
   * it. Throws the errors of send().
   */
  compose(mail: MailBuilderFields): Promise<{ id: string }>;
  /** Like `compose`, for a complete message. `to` must not be empty. */
  receive(mail: { from: string; to: string[]; raw: Uint8Array; worker?: string | undefined }): Promise<{ id: string }>;
  /**
   * Passes a stored message to the workers again, under a new id. Throws inboxMessageMissing, inboxWorkerMissing,
   * inboxRecipientsMissing.
   */
  resend(
    account: string,
    id: string,
    options?: { worker?: string | undefined; from?: string | undefined; to?: string[] | undefined },
  ): Promise<{ id: string }>;
  /**
   * Sends a stored message to an SMTP server; one result per recipient. Throws inboxMessageMissing,
   * releaseServerMissing, badSmartHost.
   */
  release(
    account: string,
    id: string,
    options?: { server?: string | undefined; from?: string | undefined; to?: string[] | undefined },
  ): Promise<ReleaseResult[]>;
}

interface InboxActionsDeps {
  inbox: Pick<Inbox, "get" | "raw">;
  receiver: Pick<Receiver, "receive" | "dispatch">;
  spool: Spool;
  /** Names of the workers that can receive messages. */
  workers: () => readonly string[];
  /** Default server for release(). */
  releaseServer?: string;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  log: Log;
}

const RELEASE_TIMEOUT_MS = 60_000;

export function createInboxActions({
  inbox,
  receiver,
  spool,
  workers,
  releaseServer = "",
  clock,
  ids,
  log,
}: InboxActionsDeps): InboxActions {
  const release = createSmtpRelease({ clock, log, timeoutMs: RELEASE_TIMEOUT_MS });

  const actions: InboxActions = {
    async compose(mail) {
      return actions.receive(await composeMessage(mail, { spool, clock, ids }));
    },

    async receive({ from, to, raw, worker }) {
      if (to.length === 0) throw mailErrors.inboxRecipientsMissing();
      for (const address of to)
        if (parseAddress(address) === undefined) throw mailErrors.recipientInvalid({ address: quoted(address) });
      if (from !== "" && parseAddress(from) === undefined) throw mailErrors.senderInvalid({ address: quoted(from) });
      if (worker !== undefined && !workers().includes(worker))
        throw mailErrors.inboxWorkerMissing({ worker: quoted(worker), names: workers().join(", ") });
      let first: string | undefined;
      // One message per worker invocation, as for the HTTP endpoints for mail.
      for (const recipients of worker === undefined ? [to] : to.map((one) => [one])) {
        const source = spool.fromMemory(raw);
        first ??= source.id;
        if (worker === undefined) {
          const envelope = { from, to: recipients, helo: "localhost", ip: "127.0.0.1", smtputf8: true };
          await receiver.receive(envelope, source);
        } else {
          await receiver.dispatch({ script: worker, from, to: recipients[0]!, message: readMessage(source) });
        }
      }
      return { id: first! };
    },

    async resend(account, id, { worker, from, to } = {}) {
      const message = await inbox.get(account, id);
      const raw = await inbox.raw(account, id);
      return actions.receive({ from: from ?? message.from, to: to ?? message.to, raw, worker });
    },

    async release(account, id, { server = releaseServer, from, to } = {}) {
      const message = await inbox.get(account, id);
      if (server === "") throw mailErrors.releaseServerMissing();
      const recipients = to ?? message.to;
      if (recipients.length === 0) throw mailErrors.inboxRecipientsMissing();
      const raw = await inbox.raw(account, id);
      const results = await release({ server, from: from ?? message.from, to: recipients, raw });
      log.info({ message: id, results }, "inbox: message released");
      return results;
    },
  };
  return actions;
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 200));
