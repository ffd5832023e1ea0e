import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import { createHeaderEndFinder, isSameMailAddress } from "../../protocol/rfc5322/index.ts";
import type { Srs } from "../../protocol/srs/index.ts";
import type { SmtpReply } from "../messages/index.ts";
import type { FailedRecipient, DeliveryFailure } from "../outbound/index.ts";
import { suppressionFor } from "./classify.ts";
import type { ReturnPaths } from "./paths.ts";
import { MAX_RETURNED, type Original } from "./report.ts";
import type { ReportableFailure } from "./reporter.ts";
import type { PathRow, BouncesTable } from "./bounces-table.ts";
import type { BounceList, BounceReason } from "./types.ts";

interface FailureDeps {
  srs: Srs;
  paths: ReturnPaths;
  table: BouncesTable;
  list: BounceList | undefined;
  clock: Pick<Clock, "now">;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SUPPRESSION_MS: Record<BounceReason, number | null> = {
  hard_bounce: 7 * DAY_MS,
  soft_bounce: DAY_MS,
  complaint: null,
};
/**
 * An address that fails permanently twice, at least this far apart, does not exist. Failures closer together may come
 * from one outage, or from mail that was already under way.
 */
const CONFIRMED_MS = 3 * DAY_MS;
const CONFIRM_WITHIN_MS = 90 * DAY_MS;

export type FailureHandler = ReturnType<typeof createFailureHandler>;

/** Handles mail that could not be delivered. */
export function createFailureHandler({ srs, paths, table, list, clock }: FailureDeps) {
  async function suppress(
    account: string,
    email: string,
    reason: BounceReason | undefined,
    { domain, note }: { domain?: string; note?: string },
  ): Promise<void> {
    if (reason === undefined || list === undefined || account === "") return;
    const durationMs = reason === "hard_bounce" && (await isConfirmed(account, email)) ? null : SUPPRESSION_MS[reason];
    await list.add({
      account,
      email,
      reason,
      expiresAt: durationMs === null ? null : new Date(clock.now() + durationMs),
      ...(domain !== undefined && { domain }),
      ...(note !== undefined && { note: note.slice(0, 1000) }),
    });
  }

  async function isConfirmed(account: string, email: string): Promise<boolean> {
    const id = `hard ${createHash("sha256").update(`${account}\0${email.toLowerCase()}`).digest("base64url")}`;
    const now = clock.now();
    const previousMark = await table.markedUntil(id);
    if (previousMark !== undefined && previousMark >= now)
      return previousMark - CONFIRM_WITHIN_MS <= now - CONFIRMED_MS;
    await table.mark([id], now + CONFIRM_WITHIN_MS, now);
    return false;
  }

  /** Resolves with the original sender of an envelope address, and whether it is authenticated. */
  async function findOriginalSender(
    from: string,
    senderAuthenticated: boolean,
  ): Promise<{ to: string; senderAuthenticated: boolean; path?: PathRow }> {
    if (from === "") return { to: "", senderAuthenticated: false };
    if (srs.isOurs(from)) {
      // Only authenticated senders get an SRS address.
      const srsResult = srs.reverse(from, clock.now());
      return srsResult.ok
        ? { to: srsResult.address, senderAuthenticated: true }
        : { to: "", senderAuthenticated: false };
    }
    const pathResult = paths.read(from, clock.now());
    if (!pathResult.ok) return { to: pathResult.why === "not-a-path" ? from : "", senderAuthenticated };
    const path = await table.path(pathResult.id);
    return path === undefined
      ? { to: "", senderAuthenticated: false }
      : { to: path.sender, senderAuthenticated: true, path };
  }

  let lastLargeRead: Promise<unknown> = Promise.resolve();

  /**
   * Large messages are read one at a time, and only the part to be returned is kept in memory: many may fail at the
   * same time.
   */
  async function originalOf({ message, open }: DeliveryFailure): Promise<Original | undefined> {
    if (message.size <= MAX_RETURNED) return parseOriginal(await open());
    const next = lastLargeRead.then(async () => parseOriginal(await open()));
    lastLargeRead = next.then(
      () => {},
      () => {},
    );
    return next;
  }

  /** Builds the report about a failed delivery from the queue. */
  async function reportableFailure(
    failure: DeliveryFailure,
    action: "failed" | "delayed" | "relayed" = "failed",
  ): Promise<ReportableFailure> {
    const { message, recipients, dsn } = failure;
    const { to, senderAuthenticated, path } = await findOriginalSender(message.from, message.senderAuthenticated);
    const alias = message.cause === "forward" ? (path?.rcpt ?? message.inbound?.rcpt) : undefined;
    const inbound =
      message.inbound === undefined ? undefined : { id: message.inbound.id, ...(alias != null && { rcpt: alias }) };
    return {
      to,
      senderAuthenticated,
      about: message.id,
      onlyIfRequested: path?.kind === "sent",
      dsn,
      arrived: message.createdAt,
      account: message.account,
      zone: message.zone,
      ...(inbound && { inbound }),
      original: () => originalOf(failure),
      recipients: recipients.map((one) => ({
        ...visibleOutcome(one, alias),
        action,
        ...(one.notify && { notify: one.notify }),
        ...(one.orcpt !== undefined && { orcpt: one.orcpt }),
      })),
    };
  }

  return {
    suppress,
    reportableFailure,
    /** Updates the suppression list after failures of mail that an account sent. */
    async suppressFailed({ message, recipients }: DeliveryFailure): Promise<void> {
      if (message.cause !== "send" || message.account === undefined) return;
      for (const { rcpt, state, reply } of recipients) {
        const reason = suppressionFor({
          status: enhancedStatus(reply),
          code: reply.code,
          text: reply.text,
          expired: state === "expired",
        });
        await suppress(message.account, rcpt, reason, { note: `${reply.code} ${reply.enhanced} ${reply.text}` });
      }
    },
  };
}

function parseOriginal(bytes: Uint8Array | undefined): Original | undefined {
  if (bytes === undefined) return undefined;
  const end = createHeaderEndFinder().push(bytes) ?? bytes.length;
  return {
    head: Buffer.from(bytes.subarray(0, Math.min(end, MAX_RETURNED))),
    size: bytes.length,
    whole: bytes.length <= MAX_RETURNED ? () => bytes : undefined,
  };
}

export const enhancedStatus = ({ code, enhanced }: SmtpReply): string =>
  /^[245]\.\d{1,3}\.\d{1,3}$/.test(enhanced) ? enhanced : `${Math.floor(code / 100)}.0.0`;

/**
 * RFC 3461 6.2.4: forward destinations are private. The report contains the original recipient, and the forward
 * destination is removed from the next hop's reply text.
 */
function visibleOutcome(
  { rcpt, reply, host }: Pick<FailedRecipient, "rcpt" | "reply" | "host">,
  alias: string | null | undefined,
) {
  if (alias == null || isSameMailAddress(alias, rcpt)) return { rcpt, reply, ...(host !== undefined && { host }) };
  return { rcpt: alias, reply: { ...reply, text: hide(reply.text, rcpt, alias) } };
}

function hide(text: string, rcpt: string, alias: string): string {
  const local = rcpt.slice(0, rcpt.lastIndexOf("@"));
  const whole = text.replace(new RegExp(escaped(rcpt), "gi"), () => alias);
  return local.length < 3
    ? whole
    : whole.replace(new RegExp(`(?<![\\w.])${escaped(local)}(?![\\w.])`, "gi"), () =>
        alias.slice(0, alias.lastIndexOf("@")),
      );
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
