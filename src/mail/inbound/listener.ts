import { hostname } from "node:os";
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { messageOf, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import { mailErrors } from "../errors.ts";
import { MAX_MESSAGE_BYTES, type Spool } from "../messages/spool.ts";
import type { Envelope, MailSource, Settled, SmtpReply } from "../messages/types.ts";
import { StrictConnection, type ConnectionLimits, type IncomingData } from "./connection.ts";
import { answerWith, createSession } from "./session.ts";

export interface SmtpListenerOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** A socket that listens already; goes before the address. */
  fd?: number;
  /** Our name in the greeting and in Received fields. Default: the machine's. */
  name?: string;
  /** Resolves when the message is safe or refused, for every recipient; only then the client gets its answer. */
  receive: (envelope: Envelope, source: MailSource) => Promise<Settled[]>;
  spool: Spool;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Told of messages that were refused while they came in: too large, line ends that are none, headers without end. */
  onRefused?: (envelope: Envelope, reply: SmtpReply) => void;
  limits?: Partial<SmtpLimits>;
  /** PEM. Without it STARTTLS is not offered: clients refuse certificates they cannot trace, and would not deliver at all. */
  tls?: { key: string | Buffer; cert: string | Buffer };
}

export interface SmtpLimits extends ConnectionLimits {
  /** Octets; announced as SIZE (RFC 1870). Default 26214400. */
  messageBytes: number;
  /** Recipients of one message; RFC 5321 4.5.3.1.8 wants 100. */
  recipients: number;
  connections: number;
  /** Milliseconds that close() waits for messages under way. */
  closeMs: number;
}

export const DEFAULT_SMTP_LIMITS: SmtpLimits = {
  messageBytes: MAX_MESSAGE_BYTES, recipients: 100, connections: 500, commandMs: 5 * 60_000, dataMs: 15 * 60_000, closeMs: 10_000,
};

export interface SmtpListener {
  readonly host: string;
  readonly port: number;
  /** Takes no more connections, lets messages under way get their answer, then hangs up. */
  close(): Promise<void>;
}

/** Listens for mail. Rejects with UserError when the port cannot be had. */
export async function createSmtpListener(options: SmtpListenerOptions): Promise<SmtpListener> {
  const { host, port, fd, name = hostname(), log, tls } = options;
  const limits = { ...DEFAULT_SMTP_LIMITS, ...options.limits };
  const session = createSession({ ...options, name, messageBytes: limits.messageBytes });
  let closing = false;

  const server = new StrictServer(limits, {
    name,
    heloResponse: "%s greets %s",
    size: limits.messageBytes,
    maxClients: limits.connections,
    maxRecipients: limits.recipients,
    socketTimeout: limits.commandMs,
    closeTimeout: limits.closeMs,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    // No submission here, and none of smtp-server's jokes.
    disabledCommands: ["AUTH", "WIZ", "SHELL", "KILL", ...(tls === undefined ? ["STARTTLS"] : [])],
    authOptional: true,
    logger: false,
    ...tls,
    onData(data, facts, done) {
      void session(data as IncomingData, facts).then((reply) => {
        answerWith(reply, done);
        if (closing) setImmediate(hangUpIdle);
      });
    },
  });
  // A client that drops the line is an everyday event.
  server.on("error", (err: Error) => log.debug({ err }, "smtp: connection failed"));

  function hangUpIdle() {
    for (const connection of server.connections) {
      if (!(connection as StrictConnection).busy) connection.send(421, "4.3.2 Server shutting down");
    }
  }

  await new Promise<void>((resolve, reject) => {
    const failed = (err: NodeJS.ErrnoException) =>
      reject(err.code === "EADDRINUSE" ? mailErrors.portBusy({ host, port }, { cause: err }) : mailErrors.listenFailed({ host, port, reason: messageOf(err) }, { cause: err }));
    server.server.once("error", failed);
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.server.off("error", failed);
      resolve();
    });
  });

  let closed: Promise<void> | undefined;
  return {
    host,
    port: (server.server.address() as AddressInfo).port,
    close: () =>
      (closed ??= new Promise<void>((resolve) => {
        closing = true;
        server.close(resolve);
        hangUpIdle();
      })),
  };
}

class StrictServer extends SMTPServer {
  readonly #limits: ConnectionLimits;

  constructor(limits: ConnectionLimits, options: SMTPServerOptions) {
    super(options);
    this.#limits = limits;
  }

  override connect(...[socket, options]: Parameters<SMTPServer["connect"]>): void {
    const connection = new StrictConnection(this, socket, options, this.#limits);
    this.connections.add(connection);
    connection.on("error", (err: Error) => this._onError(err));
    connection.init();
  }
}
