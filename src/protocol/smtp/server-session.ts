import { createCommandReader } from "./command-reader.ts";
import { parseCommand, type SmtpCommand } from "./command.ts";
import { createMessageReader } from "./message-reader.ts";
import { readMailParameters, readRecipientParameters } from "./parameters.ts";
import { readPath } from "./path.ts";
import type { Reply } from "./reply.ts";
import { createSasl, type Sasl } from "./sasl.ts";
import * as replies from "./server-replies.ts";
import type { SmtpServerEvent, ServerSession, ServerSessionOptions, Transaction } from "./server-session-types.ts";

/** Maximum number of unknown commands, from a client that speaks a different protocol. */
const MAX_UNKNOWN = 10;
/** Maximum number of commands before AUTH, where it is required. */
const MAX_UNAUTHENTICATED = 10;

/**
 * RFC 2920 3.1: a client waits for the reply to these commands. A client that does not wait is not a mail server, or
 * another protocol is being tunneled through it.
 */
const SYNCHRONIZING_VERBS = new Set(["EHLO", "HELO", "DATA"]);
const VERBS_NEEDING_HELO = new Set(["MAIL", "RCPT", "DATA", "BDAT", "AUTH"]);
const VERBS_NEEDING_AUTH = new Set(["MAIL", "RCPT", "DATA", "BDAT"]);

type State = "command" | "data" | "mail" | "recipient" | "credentials" | "message" | "tls" | "closed";

/**
 * Creates the server side of an SMTP session (RFC 5321), without I/O: it converts octets to events. The session
 * processes input only while `next` is called, so a driver applies backpressure by not calling it.
 */
export function createServerSession(options: ServerSessionOptions): ServerSession {
  const { extensions, limits, maxRecipients } = options;
  const input = createCommandReader(options.maxCommand);
  const message = createMessageReader(options.maxSize);
  const events: SmtpServerEvent[] = [];
  let state: State = "command";
  let { tls } = options;
  let helo: string | undefined;
  let isExtended = false;
  let isAuthenticated = false;
  let transaction: Transaction | undefined;
  let pendingRecipient: ReturnType<Transaction["recipients"]["get"]>;
  let sasl: Sasl | undefined;
  /** A line whose processing is delayed. */
  let delayedLine: Buffer | undefined;
  let errorCount = 0;
  let commandCount = 0;
  let unknownCount = 0;
  let unauthenticatedCount = 0;

  function send(reply: Reply) {
    if (reply.code >= 500 || commandCount > limits.commands) errorCount++;
    events.push({ type: "reply", reply });
    if (reply.code === 421) close();
  }

  function close() {
    if (state === "closed") return;
    resetTransaction();
    state = "closed";
    events.push({ type: "close" });
  }

  function replyAndClose(reply: Reply) {
    send(reply);
    close();
  }

  function resetTransaction() {
    if (message.isActive()) events.push({ type: "aborted" });
    message.reset();
    transaction = undefined;
    pendingRecipient = undefined;
  }

  /** Processes one command or some data. Returns false without input. */
  function advance(): boolean {
    if (state === "data") return readData();
    if (state === "tls" || state === "closed") input.take();
    return state === "command" && readCommand();
  }

  function readCommand(): boolean {
    let line = delayedLine;
    delayedLine = undefined;
    if (line === undefined) {
      const readResult = input.read();
      if (readResult === undefined) return false;
      if (!readResult.ok) {
        replyAndClose(readResult.reason === "too long" ? replies.LINE_TOO_LONG : replies.BARE_LINE_END);
        return true;
      }
      ({ line } = readResult);
      options.onLine?.(sasl === undefined ? line.toString() : "");
      commandCount++;
      if (errorCount >= limits.errors) {
        replyAndClose(replies.TOO_MANY_ERRORS);
        return true;
      }
      if (errorCount >= limits.errorsBeforeDelay) {
        delayedLine = line;
        events.push({ type: "delay" });
        return true;
      }
    }
    if (sasl === undefined) execute(parseCommand(line));
    else authenticate(line.toString("latin1").trim());
    return true;
  }

  function execute(command: SmtpCommand) {
    const { verb } = command;
    if (verb === "BDAT" && extensions.chunking) return bdat(command);
    if (SYNCHRONIZING_VERBS.has(verb) && input.bufferedOctets() > 0) return replyAndClose(replies.NOT_SYNCHRONIZED);
    const refusal = rejectionOf(verb);
    if (refusal !== undefined) return send(refusal);
    switch (verb) {
      case "EHLO":
      case "HELO":
        return greet(command);
      case "MAIL":
        return mail(command);
      case "RCPT":
        return rcpt(command);
      case "DATA":
        return data(command);
      case "RSET":
        resetTransaction();
        return send(replies.FLUSHED);
      case "NOOP":
        return send(replies.OK);
      case "HELP":
        return send(replies.HELP);
      case "VRFY":
        return send(command.argument === "" ? replies.VRFY_SYNTAX : replies.VRFY);
      case "QUIT":
        return replyAndClose(replies.BYE);
      case "STARTTLS":
        if (extensions.starttls) return startTls(command);
        break;
      case "AUTH":
        if (extensions.auth) return auth(command);
    }
    if (command.isHttp) return replyAndClose(replies.HTTP_NOT_ALLOWED);
    if (++unknownCount >= MAX_UNKNOWN) return replyAndClose(replies.TOO_MANY_UNKNOWN);
    send(replies.UNKNOWN_COMMAND);
  }

  /** Returns the reply to a command that is not allowed yet. */
  function rejectionOf(verb: string): Reply | undefined {
    if (extensions.auth && !isAuthenticated && verb !== "AUTH" && ++unauthenticatedCount >= MAX_UNAUTHENTICATED)
      return replies.TOO_MANY_UNAUTHENTICATED;
    if (helo === undefined && VERBS_NEEDING_HELO.has(verb) && (verb !== "AUTH" || extensions.auth))
      return replies.HELO_FIRST;
    if (extensions.auth && !isAuthenticated && VERBS_NEEDING_AUTH.has(verb)) return replies.AUTH_REQUIRED;
    return undefined;
  }

  function greet({ verb, words }: SmtpCommand) {
    const [name = ""] = words;
    if (words.length !== 1) return send(replies.heloSyntax(verb));
    if (name.length > 300 || /\p{Cc}/u.test(name)) return send(replies.HELO_NAME);
    helo = name.toLowerCase();
    isExtended = verb === "EHLO";
    resetTransaction();
    const keywords = isExtended
      ? replies.keywords(options, { tls: tls !== undefined, authenticated: isAuthenticated })
      : [];
    send(replies.ehloReply(options, keywords));
  }

  function mail({ line, path }: SmtpCommand) {
    if (path?.prefix !== "FROM") return send(replies.SENDER_SYNTAX);
    const rules = { ...extensions, maxSize: options.maxSize };
    const readResult = readMailParameters(line, path.params, rules);
    if (!readResult.ok) return send(readResult.reply);
    const from = readPath(path.path);
    if (from === undefined) return send(replies.SENDER_SYNTAX);
    if (transaction !== undefined) return send(replies.NESTED_MAIL);
    transaction = { from, ...readResult.value, recipients: new Map() };
    state = "mail";
    events.push({ type: "mail" });
  }

  function rcpt({ line, path }: SmtpCommand) {
    if (path?.prefix !== "TO") return send(replies.RECIPIENT_SYNTAX);
    const readResult = readRecipientParameters(line, path.params, extensions, transaction?.smtputf8 === true);
    if (!readResult.ok) return send(readResult.reply);
    const address = readPath(path.path, { postmaster: true });
    if (address === undefined || address === "") return send(replies.RECIPIENT_SYNTAX);
    if (transaction === undefined) return send(replies.NEED_MAIL);
    if (message.isActive()) return send(replies.BDAT_STARTED);
    const { recipients } = transaction;
    if (recipients.size >= maxRecipients && !recipients.has(address.toLowerCase()))
      return send(replies.TOO_MANY_RECIPIENTS);
    pendingRecipient = { address, dsn: readResult.value };
    state = "recipient";
    events.push({ type: "recipient", address });
  }

  function data({ argument }: SmtpCommand) {
    if (argument !== "") return send(replies.DATA_SYNTAX);
    if (message.isActive()) return send(replies.BDAT_STARTED);
    if (!hasRecipients()) return send(replies.NEED_RCPT);
    events.push({ type: "data" });
    send(replies.START_DATA);
    message.startData();
    state = "data";
  }

  function bdat({ words }: SmtpCommand) {
    const [size = "", last] = words;
    const octets = /^\d{1,15}$/.test(size) ? Number(size) : undefined;
    // Without the size, the commands after the chunk cannot be located.
    if (octets === undefined || words.length > 2 || (last !== undefined && last.toUpperCase() !== "LAST"))
      return replyAndClose(replies.BDAT_SYNTAX);
    const refusal = rejectionOf("BDAT") ?? (hasRecipients() ? undefined : replies.NEED_RCPT);
    // RFC 3030 2: the chunk of a refused BDAT is read and discarded.
    if (refusal !== undefined) {
      send(refusal);
      if (refusal.code === 421) return;
      message.discard(octets);
    } else {
      if (!message.isActive()) events.push({ type: "data" });
      // Chunks do not count as commands without an accepted message.
      commandCount--;
      message.startChunk(octets, last !== undefined);
    }
    state = "data";
  }

  const hasRecipients = () => transaction !== undefined && transaction.recipients.size > 0;

  function readData(): boolean {
    if (input.bufferedOctets() === 0 && !message.isComplete()) return false;
    const { content, rest } = message.push(input.take());
    if (content.length > 0) events.push({ type: "content", content });
    if (rest === undefined) return true;
    input.push(rest);
    endOfData(message.end());
    return true;
  }

  function endOfData(end: ReturnType<typeof message.end>) {
    state = "command";
    if (end.kind === "discarded") return;
    if (end.kind === "chunk") return send(replies.octetsReceived(end.octets));
    if (end.lineEnd.length > 0) events.push({ type: "content", content: end.lineEnd });
    state = "message";
    events.push({ type: "message", stray: end.stray, oversized: end.oversized });
  }

  function startTls({ argument }: SmtpCommand) {
    if (argument !== "") return send(replies.STARTTLS_SYNTAX);
    if (tls !== undefined) return send(replies.TLS_ACTIVE);
    send(replies.START_TLS);
    // RFC 3207 4.2: data sent by the client in plaintext has no effect inside TLS.
    resetTransaction();
    input.take();
    helo = undefined;
    isExtended = false;
    state = "tls";
    events.push({ type: "starttls" });
  }

  function auth({ words: [mechanism = "", ...more] }: SmtpCommand) {
    const name = mechanism.toUpperCase();
    if (isAuthenticated) return send(replies.ALREADY_AUTHENTICATED);
    if (name !== "PLAIN" && name !== "LOGIN") return send(replies.UNKNOWN_MECHANISM);
    if (more.length > 1) return send(replies.authSyntax(name));
    sasl = createSasl(name);
    authenticate(more[0]);
  }

  function authenticate(response: string | undefined) {
    const step = response === "*" ? "*" : sasl!.step(response);
    if (step !== "*" && step.kind === "challenge") return send(replies.challenge(step.text));
    sasl = undefined;
    if (step === "*") return send(replies.AUTH_ABORTED);
    if (step.kind === "invalid") return send(replies.AUTH_INVALID);
    state = "credentials";
    events.push({ type: "credentials", credentials: step.credentials });
  }

  function decide(reply?: Reply) {
    const isAccepted = reply === undefined || reply.code < 300;
    switch (state) {
      case "mail":
        if (!isAccepted) resetTransaction();
        break;
      case "recipient":
        if (isAccepted) transaction!.recipients.set(pendingRecipient!.address.toLowerCase(), pendingRecipient!);
        break;
      case "credentials":
        isAuthenticated = isAccepted;
        break;
      case "message":
        return decideMessage(reply ?? replies.ACCEPTED.message);
      default:
        return;
    }
    const answer = reply ?? replies.ACCEPTED[state];
    state = "command";
    send(answer);
  }

  /** Whether a message is accepted does not indicate how well the client speaks SMTP. */
  function decideMessage(reply: Reply) {
    message.reset();
    resetTransaction();
    unknownCount = 0;
    if (reply.code < 300) errorCount = commandCount = 0;
    state = "command";
    events.push({ type: "reply", reply });
    if (reply.code === 421) close();
  }

  return {
    push: input.push,
    next() {
      while (events.length === 0 && advance());
      return events.shift();
    },
    decide,
    tlsEstablished(cipher) {
      tls = cipher;
      input.take();
      if (state === "tls") state = "command";
    },
    terminate(reply) {
      if (state !== "closed") replyAndClose(reply);
    },
    awaitedInput() {
      if (state === "command" || state === "data") return delayedLine === undefined ? state : "nothing";
      return "nothing";
    },
    isReceiving: () => message.isActive() || state === "data",
    bufferedOctets: input.bufferedOctets,
    heloName: () => helo ?? "",
    tlsCipher: () => tls,
    protocolName() {
      if (transaction?.smtputf8) return tls === undefined ? "UTF8SMTP" : "UTF8SMTPS";
      return `${isExtended ? "E" : ""}SMTP${tls === undefined ? "" : "S"}${isAuthenticated ? "A" : ""}`;
    },
    currentTransaction: () => transaction,
  };
}
