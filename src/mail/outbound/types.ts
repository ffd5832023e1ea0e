import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { DsnEvent, SmtpReply } from "../messages/index.ts";

/** The lookups that MX routing needs. `new Resolver()` of node:dns/promises is one. Rejects with `code` ENOTFOUND (NXDOMAIN), ENODATA, or any other for "ask again later". */
export interface MailResolver {
  resolveMx(domain: string): Promise<{ exchange: string; priority: number }[]>;
  resolve4(host: string): Promise<string[]>;
  resolve6(host: string): Promise<string[]>;
}

/**
 * How much the transport must be protected. `opportunistic`: TLS when offered, any certificate, plain text when that fails (RFC 7435).
 * `require`: TLS with any certificate. `verified`: TLS with a certificate that names the host.
 */
export type TlsLevel = "none" | "opportunistic" | "require" | "verified";

/** What a domain demands of whoever delivers to it: the outcome of MTA-STS, of DANE, or of a setting. */
export interface TlsPolicy {
  level: TlsLevel;
  /** RFC 8461 4.1: only hosts that match one of these may be used; "*.example.com" stands for exactly one label. */
  mx?: string[];
  /** A check (DANE) in the place of the usual one of the certificate, once TLS stands and before any mail is said. What it throws makes the host unusable. */
  verify?: (host: string, socket: TLSSocket) => void;
  /** The policy as a TLS report names it. Sessions without one are not reported. */
  reported?: ReportedPolicy;
}

/** A policy as a TLS report names it (RFC 8460 4.4). */
export interface ReportedPolicy {
  type: "sts" | "tlsa" | "no-policy-found";
  /** `policy-string`: the lines of an MTA-STS policy, or TLSA records. */
  lines: string[];
  /** `mx-host` */
  mx: string[];
  /** Why the policy is not known. Each session counts as failed. */
  failure?: TlsFailure;
}

/** RFC 8460 4.3. "dane-required" is absent: no setting requires DANE. */
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

/** The outcome of TLS in one session with a host of `domain`. */
export interface TlsResult {
  domain: string;
  policy: ReportedPolicy;
  /** Undefined: the session met the policy. */
  failure?: TlsFailure | undefined;
  mx: string;
  ip: string;
  /** Undefined if no connection was made. */
  sendingIp?: string | undefined;
}

/** Records the outcome of TLS for the domains that mail is sent to (RFC 8460). */
export interface TlsResults {
  /** Envelope sender of TLS reports. They are delivered despite TLS failures, and their sessions are not recorded (RFC 8460 5.3). */
  reportSender: string;
  /** Must not throw. */
  record(result: TlsResult): void;
}

export type PolicyFor = (domain: string) => TlsPolicy | undefined | Promise<TlsPolicy | undefined>;

/** What DANE says of one host (RFC 7672). `unknown`: nobody can tell, so no mail may go there now. */
export type DaneFinding =
  | { kind: "none" }
  | { kind: "unknown"; why: string; reported?: ReportedPolicy }
  /** `host`: the name to ask the certificate for (SNI): where the aliases of the MX host lead. */
  | { kind: "policy"; host: string; policy: TlsPolicy };

/** For a domain whose mail comes in at this very server: the host of ours that takes it, or that its MX records lead to one. */
export type LocalHop = (domain: string) => Promise<SmartHost | "by-mx" | undefined>;

export type DaneFor = (domain: string, host: string) => Promise<DaneFinding>;

export interface SmartHost {
  /** Name or address. */
  host: string;
  port: number;
  auth?: { user: string; pass: string };
  /** `implicit`: TLS from the first octet. Default: implicit on port 465, else verified with `auth`, else opportunistic. */
  tls?: TlsLevel | "implicit";
}

/** Octets that can be read as often as a delivery is tried. */
export interface Body {
  size: number;
  /** True if any octet is not ASCII: for a server without 8BITMIME the message is encoded (RFC 6152 3). */
  eightBit: boolean;
  /** UTF-8 in the header section (RFC 6532). */
  utf8Header: boolean;
  open(): Readable | Uint8Array | Promise<Readable | Uint8Array>;
}

/**
 * Converts a message for a server without 8BITMIME or SMTPUTF8, or returns the rejection if that is impossible. `own`: a local account wrote it,
 * so its header may be changed too. Rejects when the message cannot be read.
 */
export type Downgrade = (
  body: Body,
  server: { own: boolean; eightBitMime: boolean; smtpUtf8: boolean },
) => Promise<{ ok: true; body: Body } | { ok: false; reply: SmtpReply }>;

/** One message for recipients that share a next hop. */
export interface Parcel {
  from: string;
  /** True if a local account wrote the message. Default false. */
  own?: boolean;
  to: ParcelRecipient[];
  body: Body;
  ret?: "FULL" | "HDRS";
  envid?: string;
}

export interface ParcelRecipient {
  rcpt: string;
  /** Envelope sender for this recipient. Default: that of the parcel. */
  from?: string;
  notify?: DsnEvent[];
  orcpt?: string;
}

export interface Result {
  rcpt: string;
  outcome: "delivered" | "temporary" | "permanent";
  /** The next hop's own words, or ours where it said nothing. */
  reply: SmtpReply;
  /** Who answered: `mx1.example.com [192.0.2.1]:25`. */
  host?: string;
  /** "TLSv1.3"; undefined for plain text. */
  tls?: string;
  /** The next hop was told NOTIFY=SUCCESS and understands it: that notice is its to send (RFC 3461 5.2.1). */
  notices?: true;
}

export interface Carried {
  /** One for each recipient. */
  results: Result[];
  /** False when no host could be talked to: the fault is the way there, not the message. */
  reached: boolean;
  /** True when `signal` ended it: what is temporary then says nothing about the next hop. */
  interrupted: boolean;
}

/** Brings mail to next hops. Never rejects: whatever goes wrong is some recipient's result. */
export interface Carrier {
  /** Everything goes one way, whatever its domain. */
  readonly toSmartHost: boolean;
  /** `domain` is that of every recipient, unless a smart host sorts them. */
  carry(domain: string, parcel: Parcel, signal: AbortSignal): Promise<Carried>;
  /** Ends the pauses of the hosts of `domain`. Never rejects. */
  resume(domain: string): Promise<void>;
  /** Says QUIT on connections that idle. */
  close(): void;
}
