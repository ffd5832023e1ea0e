import type { Clock } from "../../kernel/index.ts";
import { replyOf } from "../errors.ts";
import type { Envelope, MailSource } from "../messages/index.ts";
import { createBodyThreads, type BodyThreadsOptions } from "./body-threads.ts";
import { checkDmarc } from "./dmarc.ts";
import { withResults } from "./forged-results.ts";
import { verifiableHeader } from "./header-limits.ts";
import { decide, DEFAULT_AUTHENTICATION_POLICY, type AuthenticationPolicy } from "./policy.ts";
import { boundedResolver, DEFAULT_LOOKUP_LIMITS, type LookupLimits, type Resolver } from "./resolver.ts";
import { quarantineField, receivedSpf, authenticationResults } from "./result-fields.ts";
import { verifySignatures, type SignatureOptions } from "./signatures.ts";
import { checkSpf } from "./spf.ts";
import type { Verdict } from "./verdict.ts";

export interface AuthenticatorOptions {
  resolver: Resolver;
  /**
   * The authserv-id of the results (RFC 8601 2.5), shared by all servers of the installation, such as "mx.example.com".
   */
  authservId: string;
  clock: Clock;
  policy?: Partial<AuthenticationPolicy>;
  lookups?: Partial<LookupLimits>;
  threads?: BodyThreadsOptions;
  /** Larger messages and header sections are checked on another thread. Default 256 KiB and 32 KiB. */
  inlineBytes?: number;
  inlineHeaderBytes?: number;
  /** Minimum size of RSA keys; shorter ones are invalid. Default 1024 (RFC 8301 3.2). */
  minKeyBits?: number;
}

export interface Authenticator {
  /**
   * Authenticates the sender of a message and decides what to do with it. Rejects only with a UserError that has an
   * SMTP reply: for an excessive header section (554), or a temporary failure (451). `policy` overrides individual
   * rules for this message.
   */
  check(
    envelope: Pick<Envelope, "from" | "helo" | "ip">,
    source: MailSource,
    options?: { policy?: Partial<AuthenticationPolicy> },
  ): Promise<Verdict>;
  /** Returns the message with the fields of the verdict on top, without results forged under the server's name. */
  addResults(source: MailSource, verdict: Pick<Verdict, "fields">): MailSource;
  close(): Promise<void>;
}

export function createAuthenticator({
  resolver,
  authservId,
  clock,
  policy: changes,
  lookups,
  threads,
  inlineBytes = 256 * 1024,
  inlineHeaderBytes = 32 * 1024,
  minKeyBits = 1024,
}: AuthenticatorOptions): Authenticator {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(authservId)) throw new TypeError(`invalid authserv-id: ${authservId}`);
  const policy = { ...DEFAULT_AUTHENTICATION_POLICY, ...changes };
  const limits = { ...DEFAULT_LOOKUP_LIMITS, ...lookups };
  const bodyThreads = createBodyThreads(threads);

  function verify(source: MailSource, bounded: Resolver, options: SignatureOptions) {
    const header = verifiableHeader(source.headerBlock);
    const body =
      source.size <= inlineBytes && header.length <= inlineHeaderBytes
        ? source.open(source.headerBlock.length)
        : undefined;
    return body instanceof Uint8Array
      ? verifySignatures(Buffer.concat([header, body]), bounded, options)
      : bodyThreads.verify(source, header, bounded, options);
  }

  return {
    async check(envelope, source, { policy: special } = {}) {
      const rules = { ...policy, ...special };
      const bounded = boundedResolver(resolver, clock, limits);
      const options = { minKeyBits, now: clock.now(), ip: envelope.ip, partialBody: rules.partialBody };
      const [spf, signatures] = await Promise.all([
        checkSpf(envelope, bounded, authservId),
        verify(source, bounded, options),
      ]);
      const { dmarc, authors } = await checkDmarc(spf, signatures, bounded);
      const results = { spf, dkim: signatures.dkim, dmarc, arc: signatures.arc };
      const decision = decide({ ...results, authors, ip: envelope.ip }, rules);
      const summary = authenticationResults(results, envelope, authservId);
      const isQuarantined = decision.kind === "quarantine";
      return {
        ...results,
        accept: decision.kind !== "refuse",
        quarantine: isQuarantined,
        ...(decision.kind === "quarantine" ? { why: decision.why } : {}),
        ...(decision.kind === "refuse" ? { why: decision.error.message, reply: replyOf(decision.error) } : {}),
        summary,
        fields: `Authentication-Results: ${summary}\r\n${receivedSpf(spf, envelope, authservId)}${isQuarantined ? quarantineField(decision.why) : ""}`,
      };
    },
    addResults: (source, { fields }) => withResults(source, fields, authservId),
    close: () => bodyThreads.close(),
  };
}
