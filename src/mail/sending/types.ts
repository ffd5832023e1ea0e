import type { Page, PageRequest } from "../../kernel/index.ts";
import type { Zone } from "../../zones/index.ts";
import type { DsnRequest, MailSource, SmtpReply } from "../messages/index.ts";
import type { NeededRecord } from "../routing/index.ts";
import type { Draft } from "./draft.ts";

/** How a message was submitted. */
type SubmissionMethod = "binding" | "rest" | "rest_raw" | "smtp";

/** A message submitted by an account. */
export type SendRequest = {
  account: string;
  via: SubmissionMethod;
  /** Envelope sender address; "" is the null sender. The From of a draft takes precedence. */
  from: string;
  /** Envelope recipients. Those of a draft take precedence. */
  to: readonly string[];
  /** The worker that sends the message. */
  script?: string;
  dsn?: DsnRequest;
} & (
  | { draft: Draft; raw?: undefined }
  /** A complete message with CRLF line endings. The caller owns and discards it. */
  | { raw: MailSource; draft?: undefined }
);

/** Every recipient is in one of the four lists, in the caller's spelling. */
export interface SendResult {
  /** The Message-ID with angle brackets; always generated here, whatever the message contained. */
  messageId: string;
  /** Accepted by the next hop. */
  delivered: string[];
  /** Stored in the local queue for later delivery. */
  queued: string[];
  /** Permanently rejected while the caller waited. */
  permanentBounces: string[];
  /** The replies of the rejecting hosts. */
  rejections: { rcpt: string; reply: SmtpReply }[];
  /** Not sent, because the sending domain or the submission method drops suppressed recipients. */
  suppressed: string[];
}

/** The single path for all outgoing account mail. */
export interface Sending {
  /**
   * Resolves when every recipient's copy has been delivered, rejected or written to disk. If it throws a UserError of
   * mailErrors, nothing was sent: E_SENDER_DOMAIN_NOT_AVAILABLE (senderDomainNotAvailable, sendingDisabled),
   * E_RECIPIENT_SUPPRESSED, E_TOO_MANY_RECIPIENTS, E_CONTENT_TOO_LARGE, E_DELIVERY_FAILED if the message cannot be sent
   * to any recipient now, E_RATE_LIMIT_EXCEEDED and E_DAILY_LIMIT_EXCEEDED (with `retryAfter`), E_VALIDATION_ERROR, and
   * the errors of queueing (queueFull, storageFull).
   */
  send(request: SendRequest): Promise<SendResult>;
  limits(account: string): Promise<SendingUsage>;
  /** Deletes expired entries. */
  sweep(): Promise<void>;
}

export interface SendingUsage {
  /** Messages per day (UTC); null means no limit. */
  quota: { unit: "day"; value: number } | null;
  usage: { sent: number; overQuota: boolean; resetsAt: number } | null;
}

/** A name that mail may be sent from. Times are epoch milliseconds. */
export interface SendingDomain {
  /** 32 hex digits. */
  id: string;
  zone: string;
  account: string;
  name: string;
  /** False if sending was disabled but mail is still routed for the name. */
  enabled: boolean;
  dkimSelector: string;
  /** The domain of the return paths, which receives the bounces. */
  returnPathDomain: string;
  previewEnabled: boolean;
  dropSuppressed: boolean;
  createdAt: number;
  modifiedAt: number;
}

export interface SendingZone {
  id: string;
  name: string;
  /** True if mail may be sent from the zone's own name. */
  enabled: boolean;
  createdAt: number;
  modifiedAt: number;
}

export interface SendingProblem {
  code:
    | "mx.missing"
    | "mx.foreign"
    | "spf.missing"
    | "spf.foreign"
    | "spf.multiple"
    | "dkim.missing"
    | "dkim.conflict"
    | "dmarc.missing"
    | "dmarc.multiple"
    | "domainkey.delegated";
  missing?: NeededRecord;
  existing?: NeededRecord;
  multiple?: NeededRecord[];
}

export interface SendingDnsStatus {
  status: "ready" | "unconfigured" | "unlocked" | "misconfigured";
  records: NeededRecord[];
  problems: SendingProblem[];
}

/** The records and problems of an existing or prospective sending domain. */
export interface SendingPreview {
  records: NeededRecord[];
  problems: SendingProblem[];
}

/** Sending domains of zones, and their records. */
export interface SendingDomains {
  /** Enabled sending domains of a zone, sorted by name. */
  list(zone: Zone): Promise<SendingDomain[]>;
  /** Throws noSendingDomain. */
  get(zone: Zone, id: string): Promise<SendingDomain>;
  /**
   * Creates and locks the records and enables sending from the name. If the sending domain already exists, repairs its
   * records and returns it. Throws sendingNotInZone, sendingOwnZone, wildcardNotAllowed, tooManySendingDomains,
   * foreignMx, multipleSpf, multipleDmarc, multipleDkim.
   */
  create(zone: Zone, name: string): Promise<SendingDomain>;
  /** Throws noSendingDomain. */
  update(
    zone: Zone,
    id: string,
    change: { previewEnabled?: boolean | undefined; dropSuppressed?: boolean | undefined },
  ): Promise<SendingDomain>;
  /** Removes the records. Throws noSendingDomain. */
  delete(zone: Zone, id: string): Promise<void>;
  /** Resolves with the records that the name needs. Throws noSendingDomain. */
  needed(zone: Zone, id: string): Promise<NeededRecord[]>;
  status(zone: Zone, id: string): Promise<SendingDnsStatus>;
  /** Creates missing records and locks unlocked ones. Throws the same errors as `create`. */
  fix(zone: Zone, id: string): Promise<SendingDnsStatus>;
  /**
   * Changes no records; generates the keys of a zone's own name in order to show them. Throws sendingNotInZone,
   * sendingOwnZone, wildcardNotAllowed.
   */
  preview(zone: Zone, name: string): Promise<SendingPreview>;
  /** Resolves with the zones of an account that have sending domains, sorted by name. */
  zones(account: string, page: PageRequest): Promise<Page<SendingZone>>;
  /** Resolves with the domain with exactly this name, in any account, enabled or not. */
  find(name: string): Promise<SendingDomain | undefined>;
  /**
   * Missing records without which mail would be considered forged. Cached for a few seconds. Throws
   * senderDomainNotAvailable if the zone was deleted.
   */
  missingRecords(domain: SendingDomain): Promise<readonly NeededRecord[]>;
  /**
   * Publishes the next DKIM keys of a name alongside the active ones; `promote` of the DKIM keys activates them. Throws
   * noSendingDomain.
   */
  rotateDkim(zone: Zone, name: string): Promise<void>;
  /** Writes the records of a name again, for example after its DKIM keys changed. Throws noSendingDomain. */
  republish(zone: Zone, name: string): Promise<void>;
  /** Deletes the data of deleted zones. */
  deleteOrphans(): Promise<void>;
  close(): void;
}
