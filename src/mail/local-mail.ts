import { mkdirSync } from "node:fs";
import type { Basics } from "../kernel/basics.ts";
import type { WorkerRuntime } from "../workers/index.ts";
import type { MailBuilderFields, SendEmailPort } from "../workers/ports.ts";
import {
  composeMessage,
  createInboxActions,
  createInboxRecorder,
  type Inbox,
  type InboxActions,
} from "./inbox/index.ts";
import { createSmtpListener, type SmtpListenerOptions, type SmtpListener } from "./inbound/index.ts";
import { createSpool, type Outbound, type Spool, traceTo, type Transport } from "./messages/index.ts";
import { createFileTransport, type WrittenMail } from "./outbound/index.ts";
import { createReceiver, type Receiver, type ReceiverOptions } from "./receive.ts";
import { createSendEmail } from "./sending/index.ts";

interface LocalMailOptions extends Pick<ReceiverOptions, "route"> {
  /** Folder for outbound messages, written as .eml files. */
  mailDirectory: string;
  spoolDirectory: string;
  onWritten: (written: WrittenMail) => void;
  rules: NonNullable<ReceiverOptions["rules"]>;
  maxMessageBytes?: number | undefined;
  /** Simulates failures of the disk and of next hops. */
  faults?: { spool(spool: Spool): Spool; intercept(transport: Transport): Transport } | undefined;
  /** Records all messages. */
  inbox: {
    store: Inbox;
    /** Account of the messages. */
    account: string;
    /** Returns the received message that caused a message that a worker sends, if known. */
    causeOf(mail: Outbound): string | undefined;
    /** Names of the workers that can receive messages. */
    workers: () => readonly string[];
    /** Default SMTP server for messages that are released. */
    releaseServer: string;
  };
}

/** The mail service of a development server: accepts mail from any sender and writes all outbound messages to files. */
export interface LocalMail {
  /** `send()` of a worker's send_email binding. */
  binding: SendEmailPort;
  spool: Spool;
  /** Composes a message without sending it; `to` has all its recipients. Throws the errors of send(). */
  compose(mail: MailBuilderFields): Promise<{ from: string; to: string[]; raw: Uint8Array }>;
  /** Actions on stored messages; they use this receiver. */
  inboxActions(receiver: Receiver): InboxActions;
  /** Receives mail for the workers of this runtime. */
  receiver(runtime: Pick<WorkerRuntime, "email">): Receiver;
  /** Rejects with UserError if the port is unavailable. */
  listen(
    receiver: Receiver,
    options: Pick<SmtpListenerOptions, "host" | "port" | "onRejected"> & { closeMs: number },
  ): Promise<SmtpListener>;
}

export function createLocalMail(options: LocalMailOptions, { clock, ids, log, lifecycle }: Basics): LocalMail {
  const { mailDirectory: dir, spoolDirectory, maxMessageBytes: maxBytes, route, rules, inbox, faults } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const ownSpool = createSpool({ dir: spoolDirectory, ids, ...(maxBytes !== undefined && { maxBytes }) });
  lifecycle.onStop("spool", () => ownSpool.close());
  const spool = faults?.spool(ownSpool) ?? ownSpool;
  const files = createFileTransport({ dir, log, onWritten: options.onWritten });
  lifecycle.onStop("outbound files", () => files.close());
  const { account, causeOf } = inbox;
  const recorder = createInboxRecorder({ inbox: inbox.store, account, ids, causeOf });
  const recorded = recorder.recordSent(files);
  // A message that fails is not delivered, so it is not recorded.
  const transport = faults?.intercept(recorded) ?? recorded;
  const trace = traceTo({
    log,
    listeners: [(event) => log.debug({ ...event }, "mail: message processed"), recorder.trace],
  });
  return {
    binding: createSendEmail({ transport, spool, trace, clock, ids, isVerified: rules.isVerified }),
    spool,
    compose: (mail) => composeMessage(mail, { spool, clock, ids }),
    receiver: (runtime) =>
      recorder.recordReceived(createReceiver({ runtime, route, transport, spool, trace, clock, ids, log, rules })),
    inboxActions: (receiver) =>
      createInboxActions({
        inbox: inbox.store,
        receiver,
        spool,
        workers: inbox.workers,
        releaseServer: inbox.releaseServer,
        clock,
        ids,
        log,
      }),
    listen: ({ receive }, { closeMs, ...at }) =>
      createSmtpListener({
        ...at,
        receive,
        spool,
        clock,
        ids,
        log,
        limits: { messageBytes: spool.maxBytes, closeMs },
      }),
  };
}
