import type { Page, PageRequest } from "../../kernel/index.ts";
import type { Zone } from "../../zones/index.ts";
import type { DsnRequest, MailSource, SmtpReply } from "../messages/index.ts";
import type { NeededRecord } from "../routing/index.ts";
import type { Draft } from "./draft.ts";

/** The way a message came to be sent. */
export type SendWay = "binding" | "rest" | "rest_raw" | "smtp";

/** A message that an account wants to send. */
export type SendRequest = {
  account: string;
  via: SendWay;
  /** Envelope sender, an address; "" is the null sender. Of a draft its From goes before it. */
  from: string;
  /** Envelope recipients. Of a draft its own go before it. */
  to: readonly string[];
  /** The worker that sends. */
  script?: string;
  dsn?: DsnRequest;
} & (
  | { draft: Draft; raw?: undefined }
  /** A whole message with CRLF line ends. It stays the caller's, who discards it. */
  | { raw: MailSource; draft?: undefined }
);

/** Every recipient is in one of the four lists, as it was spelled. */
export interface SendResult {
  /** With angle brackets; ours, whatever the message said. */
  messageId: string;
  /** The next server has it. */
  delivered: string[];
  /** On our disk, to be delivered. */
  queued: string[];
  /** Refused for good while the caller waited. */
  permanentBounces: string[];
  /** What those said who refused. */
  refusals: { rcpt: string; reply: SmtpReply }[];
  /** Not written to, where the sending domain or the way drops those that are suppressed. */
  suppressed: string[];
}

/** The one way in which mail of accounts leaves. */
export interface Sending {
  /**
   * Resolves when every recipient's copy is delivered, refused or on the disk. Throws UserError of mailErrors, and nothing is sent then:
   * E_SENDER_DOMAIN_NOT_AVAILABLE (senderDomainNotAvailable, sendingDisabled), E_RECIPIENT_SUPPRESSED, E_TOO_MANY_RECIPIENTS, E_CONTENT_TOO_LARGE,
   * E_DELIVERY_FAILED where nobody can be sent to now, E_RATE_LIMIT_EXCEEDED and E_DAILY_LIMIT_EXCEEDED (with `retryAfter`), E_VALIDATION_ERROR, and what putting it off throws (queueFull, storageFull).
   */
  send(request: SendRequest): Promise<SendResult>;
  limits(account: string): Promise<SendingUsage>;
  /** Deletes what is over. */
  sweep(): Promise<void>;
}

export interface SendingUsage {
  /** Messages in a day (UTC); null: no limit. */
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
  /** False: it was switched off, and mail is still routed for the name. */
  enabled: boolean;
  dkimSelector: string;
  /** Where bounces arrive. */
  returnPathDomain: string;
  previewEnabled: boolean;
  dropSuppressed: boolean;
  createdAt: number;
  modifiedAt: number;
}

export interface SendingZone {
  id: string;
  name: string;
  /** Whether mail may be sent from the zone's own name. */
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

/** What a zone's records say about a sending domain that is, or would be. */
export interface SendingPreview {
  records: NeededRecord[];
  problems: SendingProblem[];
}

/** The names of zones that mail is sent from, and their records. */
export interface SendingDomains {
  /** Of a zone, by name; only those that are enabled. */
  list(zone: Zone): Promise<SendingDomain[]>;
  /** Throws noSendingDomain. */
  get(zone: Zone, id: string): Promise<SendingDomain>;
  /**
   * Makes and locks the records and lets mail be sent from the name; one that is there is answered, its records made whole.
   * Throws sendingNotInZone, sendingOwnZone, wildcardNotAllowed, tooManySendingDomains, foreignMx, multipleSpf, multipleDmarc, multipleDkim.
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
  /** What the name needs. Throws noSendingDomain. */
  needed(zone: Zone, id: string): Promise<NeededRecord[]>;
  status(zone: Zone, id: string): Promise<SendingDnsStatus>;
  /** Makes missing records and locks unlocked ones. Throws what `create` throws. */
  fix(zone: Zone, id: string): Promise<SendingDnsStatus>;
  /** Changes no record; the keys of a zone's own name are made to be shown. Throws sendingNotInZone, sendingOwnZone, wildcardNotAllowed. */
  preview(zone: Zone, name: string): Promise<SendingPreview>;
  /** Zones of an account that mail is sent from, by name. */
  zones(account: string, page: PageRequest): Promise<Page<SendingZone>>;
  /** The domain of this exact name, whoever's it is, enabled or not. */
  find(name: string): Promise<SendingDomain | undefined>;
  /** Records without which its mail would be taken for forged, that are not there. Answered from memory for some seconds. Throws senderDomainNotAvailable for one whose zone is gone. */
  lacks(domain: SendingDomain): Promise<readonly NeededRecord[]>;
  /** Publishes the next DKIM keys of a name beside those that sign; `promote` of the keys makes them sign. Throws noSendingDomain. */
  rotateDkim(zone: Zone, name: string): Promise<void>;
  /** Writes the records of a name once more, as after its DKIM keys have changed. Throws noSendingDomain. */
  republish(zone: Zone, name: string): Promise<void>;
  /** Deletes what is kept about zones that are gone. */
  tidy(): Promise<void>;
  close(): void;
}
