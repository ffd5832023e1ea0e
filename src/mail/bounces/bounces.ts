import { UserError, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Srs } from "../../protocol/srs/index.ts";
import type { Db } from "../../store/index.ts";
import type { PemSigningKey, Signer } from "../authenticate/index.ts";
import { mailErrors, replyOf } from "../errors.ts";
import type { MailSource, Trace, Transport } from "../messages/index.ts";
import { suppressionFor } from "./classify.ts";
import { bounceErrors } from "./errors.ts";
import { createFailureHandler, enhancedStatus } from "./failures.ts";
import { createDelayNotifications } from "./delay-notifications.ts";
import { createReturnPaths, pathId } from "./paths.ts";
import { createReporter } from "./reporter.ts";
import { createReturnPathBatch } from "./return-path-batch.ts";
import { createBouncesTable, type PathRow } from "./bounces-table.ts";
import { createBounceProcessor } from "./bounce-processor.ts";
import type { BounceList, BounceRequest, ReturnPathRequest, BouncesService, SendingPathsRequest } from "./types.ts";

export interface BouncesOptions {
  db: Db;
  /** Adds a message to the outbound queue: resolves when it is on disk. */
  queue: Transport;
  srs: Srs;
  /** Signing keys of the return paths, newest first. */
  keys: readonly [string, ...string[]];
  /** Domain for SRS addresses, for the stored return paths of forwards, and for MAILER-DAEMON. */
  forwardDomain: string;
  /** First label of the domains that receive bounces of sent mail. */
  label: string;
  /** Host name of this server. */
  name: string;
  signer: Signer;
  /** Returns the keys that sign reports: those of the forward domain. Default: none. */
  signingKeys?: () => Promise<readonly PemSigningKey[]>;
  list?: BounceList;
  /**
   * Resolves with true if mail is sent from a domain, so that abuse@ of its bounce domain accepts complaints. Default:
   * true for every domain.
   */
  isSendingDomain?: (domain: string) => Promise<boolean>;
  trace: Trace;
  clock: Clock;
  ids: Pick<Ids, "hex" | "token" | "messageId">;
  log: Log;
  limits?: Partial<BouncesLimits>;
}

interface BouncesLimits {
  /** Days until a return path expires. */
  pathDays: number;
  /** Maximum number of reports per hour to one sender. */
  reportsPerSender: number;
  /** Maximum number of messages per hour to one return path, or forwarded to one sender. */
  perPath: number;
  /** Age at which a message counts as delayed, if NOTIFY=DELAY was requested. */
  delayMs: number;
}

/** Servers retry for five days, and people take longer to react. These are the same values as for SRS. */
const DEFAULT_RETURNS_LIMITS: BouncesLimits = {
  pathDays: 21,
  reportsPerSender: 100,
  perPath: 200,
  delayMs: 4 * 3_600_000,
};

const DAY_MS = 86_400_000;

export function createBounces(options: BouncesOptions): BouncesService {
  const {
    db,
    queue,
    srs,
    keys,
    forwardDomain,
    label,
    name,
    signer,
    signingKeys = async () => [],
    list,
    isSendingDomain = async () => true,
    trace,
    clock,
    ids,
    log,
  } = options;
  const limits = { ...DEFAULT_RETURNS_LIMITS, ...options.limits };
  const stored = createBouncesTable(db);
  const batch = createReturnPathBatch({ table: stored, log });
  const table = { ...stored, path: batch.path };
  const paths = createReturnPaths({ keys, forwardDomain, label, maxAgeDays: limits.pathDays });
  const failures = createFailureHandler({ srs, paths, table, list, clock });
  const report = createReporter({
    table,
    queue,
    trace,
    log,
    clock,
    ids,
    signer,
    keys: signingKeys,
    name,
    domain: forwardDomain,
    perSender: limits.reportsPerSender,
  });
  const { refusal, process } = createBounceProcessor({
    srs,
    paths,
    table,
    failures,
    queue,
    trace,
    clock,
    ids,
    forwardDomain,
    perPath: limits.perPath,
  });
  const notifyDelays = createDelayNotifications({ db, failures, report, clock, log, delayMs: limits.delayMs });

  const newPath = ({ account, zone }: Pick<ReturnPathRequest, "account" | "zone">, now: number) => ({
    id: pathId(ids.hex()),
    account_id: account ?? "",
    zone_id: zone ?? null,
    created_at: now,
    expires_at: now + (limits.pathDays + 1) * DAY_MS,
  });

  async function pathFor(request: ReturnPathRequest): Promise<string> {
    const now = clock.now();
    const { inbound, sender, senderAuthenticated } = request;
    const row: PathRow = {
      ...newPath(request, now),
      kind: "forward",
      message_id: inbound.id,
      header_id: "",
      domain: null,
      sender: senderAuthenticated ? sender : "",
      rcpt: inbound.rcpt,
      recipients: "[]",
    };
    await (senderAuthenticated ? table.insertPath(row) : batch.add(row));
    return paths.make(row.id, forwardDomain, now);
  }

  async function pathsFor(request: SendingPathsRequest): Promise<string[]> {
    const now = clock.now();
    const { domain, messageId, to, message = messageId, from = "" } = request;
    const row: PathRow = {
      ...newPath(request, now),
      kind: "sent",
      message_id: message,
      header_id: messageId,
      domain,
      sender: from,
      rcpt: null,
      recipients: JSON.stringify(to),
    };
    await table.insertPath(row);
    return to.map((_, member) => paths.make(row.id, paths.bounceDomainOf(domain), now, member));
  }

  async function bounce({
    account,
    zone,
    inbound,
    envelope,
    senderAuthenticated,
    recipients,
    source,
    arrivedAt,
  }: BounceRequest): Promise<boolean> {
    const result = await report({
      to: envelope.from,
      senderAuthenticated,
      about: inbound.id,
      account,
      zone,
      inbound: { id: inbound.id, ...(recipients.length === 1 && { rcpt: recipients[0]!.rcpt }) },
      arrived: arrivedAt,
      ...(envelope.dsn && { dsn: envelope.dsn }),
      recipients: recipients.map(({ action = "failed", ...one }) => ({
        ...one,
        action,
        ...envelope.dsn?.to?.[one.rcpt],
      })),
      original: async () => ({ head: source.headerBlock, whole: () => wholeOf(source), size: source.size }),
    });
    return result === "sent" || result === "before";
  }

  return {
    pathFor,
    pathsFor,
    isReturnPath: (rcpt) => srs.isOurs(rcpt) || paths.isReturnPath(rcpt) || paths.complaintDomainOf(rcpt) !== undefined,
    async check(rcpt, { from }) {
      const sentFrom = paths.complaintDomainOf(rcpt);
      return (
        refusal(rcpt, from) ??
        (sentFrom === undefined || (await isSendingDomain(sentFrom)) ? undefined : replyOf(bounceErrors.noSuchPath()))
      );
    },
    async process(mail) {
      try {
        return await process(mail);
      } catch (err) {
        if (err instanceof UserError && err.entry.smtp !== undefined) throw err;
        log.error({ err, message: mail.source.id, rcpt: mail.rcpt }, "mail: failed to process a bounce");
        throw mailErrors.fault({}, { cause: err });
      }
    },
    bounce,
    async onFailed(failure) {
      await failures.suppressFailed(failure);
      await report(await failures.reportableFailure(failure));
    },
    recordRejection: ({ account, domain, rcpt, reply }) =>
      failures.suppress(
        account,
        rcpt,
        reply.code < 500
          ? undefined
          : suppressionFor({ status: enhancedStatus(reply), code: reply.code, text: reply.text }),
        { domain, note: `${reply.code} ${reply.enhanced} ${reply.text}` },
      ),
    flush: batch.flush,
    async sweep() {
      await notifyDelays();
      for (let rounds = 0; rounds < 20 && (await table.sweep(clock.now())); rounds++) continue;
    },
  };
}

async function wholeOf({ open }: Pick<MailSource, "open">): Promise<Uint8Array> {
  const body = open();
  return body instanceof Uint8Array ? body : Buffer.concat(await body.toArray());
}
