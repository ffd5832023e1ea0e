import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { DsnEvent, SmtpReply } from "../messages/index.ts";

/**
 * The lookups needed for MX routing, as implemented by `new Resolver()` of node:dns/promises. Rejects with `code`
 * ENOTFOUND (NXDOMAIN) or ENODATA, or any other code for a temporary failure.
 */
export interface MailResolver {
  resolveMx(domain: string): Promise<{ exchange: string; priority: number }[]>;
  resolve4(host: string): Promise<string[]>;
  resolve6(host: string): Promise<string[]>;
}

/**
 * Required protection of the connection. `opportunistic`: TLS if offered, with any certificate, and plain text if it
 * fails (RFC 7435). `require`: TLS with any certificate. `verified`: TLS with a certificate that is valid for the host
 * name.
 */
export type TlsLevel = "none" | "opportunistic" | "require" | "verified";

/** TLS requirements of a domain, derived from MTA-STS, DANE, or a setting. */
export interface TlsPolicy {
  level: TlsLevel;
  /** RFC 8461 4.1: only hosts that match one of these may be used; "*.example.com" matches exactly one label. */
  mx?: string[];
  /**
   * A check (DANE) that replaces certificate verification, after the handshake and before any mail is sent. If it
   * throws, the host is not used.
   */
  verify?: (host: string, socket: TLSSocket) => void;
  /** The policy as it appears in TLS reports. Sessions without one are not reported. */
  reported?: ReportedPolicy;
}

/** A policy as it appears in TLS reports (RFC 8460 4.4). */
export interface ReportedPolicy {
  type: "sts" | "tlsa" | "no-policy-found";
  /** `policy-string`: the lines of an MTA-STS policy, or TLSA records. */
  lines: string[];
  /** Field `mx-host`. */
  mx: string[];
  /** Why the policy is not known. Each session counts as failed. */
  failure?: TlsFailure;
}

/** RFC 8460 4.3. "dane-required" is absent because no setting requires DANE. */
export type TlsFailureType =
  | "starttls-not-supported"
  | "certificate-host-mismatch"
  | "certificate-expired"
  | "certificate-not-trusted"
  | "validation-failure"
  | "tlsa-invalid"
  | "dnssec-invalid"
  | "sts-policy-fetch-error"
  | "sts-policy-invalid"
  | "sts-webpki-invalid";

export interface TlsFailure {
  type: TlsFailureType;
  reason?: string;
}

/** The TLS result of one session with a host of `domain`. */
export interface TlsResult {
  domain: string;
  policy: ReportedPolicy;
  /** Undefined if the session met the policy. */
  failure?: TlsFailure | undefined;
  mx: string;
  ip: string;
  /** Undefined if no connection was made. */
  sendingIp?: string | undefined;
}

/** Records TLS results for the domains that mail is sent to (RFC 8460). */
export interface TlsResults {
  /**
   * Envelope sender of TLS reports. They are delivered despite TLS failures, and their sessions are not recorded (RFC
   * 8460 5.3).
   */
  reportSender: string;
  /** Must not throw. */
  record(result: TlsResult): void;
}

export type PolicyLookup = (domain: string) => TlsPolicy | undefined | Promise<TlsPolicy | undefined>;

/** The DANE result for one host (RFC 7672). `unknown`: a lookup failed, so no mail may be sent to it now. */
export type DaneFinding =
  | { kind: "none" }
  | { kind: "unknown"; why: string; reported?: ReportedPolicy }
  /** `host` is the name for SNI, which is the alias target of the MX host. */
  | { kind: "policy"; host: string; policy: TlsPolicy };

/**
 * Returns the local listener for a domain that this server receives mail for, or "by-mx" if the domain's MX records
 * should be used.
 */
export type LocalHop = (domain: string) => Promise<SmartHost | "by-mx" | undefined>;

export type DaneLookup = (domain: string, host: string) => Promise<DaneFinding>;

export interface SmartHost {
  /** Host name or IP address. */
  host: string;
  port: number;
  auth?: { user: string; pass: string };
  /**
   * `implicit`: TLS from the first byte. Default: implicit on port 465, else verified with `auth`, else opportunistic.
   */
  tls?: TlsLevel | "implicit";
}

/** Content that can be read again for every delivery attempt. */
export interface ReplayableBody {
  size: number;
  /** True if any octet is not ASCII: for a server without 8BITMIME, the message is encoded (RFC 6152 3). */
  eightBit: boolean;
  /** True if the header section contains UTF-8 (RFC 6532). */
  utf8Header: boolean;
  open(): Readable | Uint8Array | Promise<Readable | Uint8Array>;
}

/**
 * Converts a message for a server without 8BITMIME or SMTPUTF8, or returns the rejection if that is impossible. `own`:
 * the message was written by a local account, so its header may be changed too. Rejects if the message cannot be read.
 */
export type Downgrade = (
  body: ReplayableBody,
  server: { own: boolean; eightBitMime: boolean; smtpUtf8: boolean },
) => Promise<{ ok: true; body: ReplayableBody } | { ok: false; reply: SmtpReply }>;

/** One message for recipients that share a next hop. */
export interface DeliveryRequest {
  from: string;
  /** True if a local account wrote the message. Default false. */
  own?: boolean;
  to: EnvelopeRecipient[];
  body: ReplayableBody;
  ret?: "FULL" | "HDRS";
  envid?: string;
}

export interface EnvelopeRecipient {
  rcpt: string;
  /** Envelope sender for this recipient. Default: that of the delivery request. */
  from?: string;
  notify?: DsnEvent[];
  orcpt?: string;
}

export interface RecipientResult {
  rcpt: string;
  outcome: "delivered" | "temporary" | "permanent";
  /** The reply of the next hop, or a local text if there was none. */
  reply: SmtpReply;
  /** The host that replied: `mx1.example.com [192.0.2.1]:25`. */
  host?: string;
  /** For example, "TLSv1.3"; undefined for plain text. */
  tls?: string;
  /** True if the next hop received NOTIFY=SUCCESS and supports it, so that it sends that DSN (RFC 3461 5.2.1). */
  nextHopNotifies?: true;
}

export interface DeliveryAttempt {
  /** One result per recipient. */
  results: RecipientResult[];
  /** False if no host could be reached: the connection failed, not the message. */
  reached: boolean;
  /** True if `signal` aborted the delivery: temporary results then indicate nothing about the next hop. */
  interrupted: boolean;
}

/** Delivers mail to next hops. Never rejects: every failure is part of a recipient's result. */
export interface DeliveryAgent {
  /** True if all mail goes to the same host, regardless of its domain. */
  readonly toSmartHost: boolean;
  /** `domain` is the domain of every recipient, unless there is a smart host. */
  deliver(domain: string, request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryAttempt>;
  /** Resumes the paused hosts of `domain`. Never rejects. */
  resume(domain: string): Promise<void>;
  /** Sends QUIT on idle connections. */
  close(): void;
}
