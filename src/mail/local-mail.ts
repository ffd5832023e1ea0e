import { mkdirSync } from "node:fs";
import type { Basics } from "../kernel/basics.ts";
import type { SendEmailPort, WorkerRuntime } from "../workers/index.ts";
import { createSmtpListener, type SmtpListenerOptions, type SmtpListener } from "./inbound/index.ts";
import { createSpool, type Spool, traceTo } from "./messages/index.ts";
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
}

/** The mail service of a development server: accepts mail from any sender and writes all outbound messages to files. */
interface LocalMail {
  /** `send()` of a worker's send_email binding. */
  binding: SendEmailPort;
  spool: Spool;
  /** Receives mail for the workers of this runtime. */
  receiver(runtime: Pick<WorkerRuntime, "email">): Receiver;
  /** Rejects with UserError if the port is unavailable. */
  listen(
    receiver: Receiver,
    options: Pick<SmtpListenerOptions, "host" | "port" | "onRejected"> & { closeMs: number },
  ): Promise<SmtpListener>;
}

export function createLocalMail(options: LocalMailOptions, { clock, ids, log, lifecycle }: Basics): LocalMail {
  const { mailDirectory: dir, spoolDirectory, maxMessageBytes: maxBytes, route, rules } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const spool = createSpool({ dir: spoolDirectory, ids, ...(maxBytes !== undefined && { maxBytes }) });
  lifecycle.onStop("spool", () => spool.close());
  const transport = createFileTransport({ dir, log, onWritten: options.onWritten });
  lifecycle.onStop("outbound files", () => transport.close());
  const trace = traceTo({ log, listeners: [(event) => log.debug({ ...event }, "mail: message processed")] });
  return {
    binding: createSendEmail({ transport, spool, trace, clock, ids, isVerified: rules.isVerified }),
    spool,
    receiver: (runtime) => createReceiver({ runtime, route, transport, spool, trace, clock, ids, log, rules }),
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
