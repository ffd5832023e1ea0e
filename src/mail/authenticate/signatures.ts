import type { Readable } from "node:stream";
import type { ARCData, ARCResult, DKIMResult, DKIMVerifyResult, DNSResolver } from "mailauth";
import { loadLibrary } from "./load-library.ts";
import type { Resolver } from "./resolver.ts";
import type { ArcResult, DkimResult, ResultWord } from "./verdict.ts";

type Library = typeof import("./library.ts");

/** Verification results for the signatures of a message. Plain data, because it may come from another thread. */
export interface SignatureResults {
  dkim: DkimResult[];
  arc: ArcResult;
  /** The addresses in From, and the number of From fields. */
  from: string[];
  fromFields: number;
}

export interface SignatureOptions {
  /** RFC 8301 3.2: shorter RSA keys are invalid. */
  minKeyBits: number;
  /** Milliseconds since the epoch. */
  now: number;
  ip: string;
  /** How to treat a signature with `l=` that leaves part of the body unsigned. */
  partialBody: "ignore" | "accept";
}

/** Checks every DKIM signature and the ARC chain (RFC 6376 6, RFC 8617 5.2) in one pass over the message. */
export async function verifySignatures(
  message: Readable | Buffer,
  resolver: Resolver,
  { minKeyBits, now, ip, partialBody }: SignatureOptions,
): Promise<SignatureResults> {
  const { arc, dkimVerify, getARChain } = await loadLibrary();
  const dnsResolver = resolver as unknown as DNSResolver;
  const dkimCheck = await dkimVerify(message, {
    resolver: dnsResolver,
    minBitLength: minKeyBits,
    curTime: new Date(now),
    rejectRsaSha1: true,
    sender: "",
  });
  const chain = await arc(strictChain(dkimCheck, getARChain), {
    resolver: dnsResolver,
    minBitLength: minKeyBits,
    ip,
    strict: true,
  });
  return {
    dkim: dkimCheck.results.map((result) => dkimResult(result, partialBody)),
    arc: arcResult(chain),
    from: dkimCheck.headerFrom,
    fromFields: dkimCheck.fromFields,
  };
}

/**
 * DKIM is parsed as leniently as in other implementations. A seal only counts if it follows the specification exactly
 * (RFC 8617 5.2), so its chain is parsed again.
 */
function strictChain({ arc: data, headers }: DKIMVerifyResult, getARChain: Library["getARChain"]): ARCData {
  const lenient = data as unknown as ARCData;
  try {
    getARChain(headers, { strict: true });
    return lenient;
  } catch (err) {
    return { ...lenient, error: err as Error };
  }
}

function dkimResult(
  { status, signingDomain, selector, algo, signature }: DKIMResult,
  partialBody: SignatureOptions["partialBody"],
): DkimResult {
  const rest = {
    ...(signingDomain ? { domain: signingDomain } : {}),
    ...(selector ? { selector } : {}),
    ...(algo ? { algorithm: String(algo) } : {}),
    ...(signature ? { signature: String(signature).slice(0, 8) } : {}),
  };
  // RFC 6376 6.1.1 and 3.6.1 (t=s): the result is PERMFAIL for any key. Without strict mode, mailauth only warns.
  if (status.warnings?.includes("identity-domain"))
    return { result: "permerror", ...rest, why: "domain mismatch between i= and d=" };
  if (status.result === "pass" && status.underSized !== undefined && partialBody === "ignore") {
    return { result: "policy", ...rest, why: `${status.underSized} octets of the body are not signed` };
  }
  const weak = status.policy?.["dkim-rules"];
  const why = status.comment ?? weak;
  return { result: status.result as ResultWord, ...rest, ...(why ? { why } : {}) };
}

function arcResult({ i, status, chain, authenticationResults }: ARCResult): ArcResult {
  const sealer = (chain || undefined)?.at(-1)?.["arc-seal"]?.parsed?.d?.value;
  const result = status.result === "pass" || status.result === "fail" ? status.result : "none";
  return {
    result,
    instance: i || 0,
    ...(typeof sealer === "string" ? { sealer } : {}),
    ...(result === "pass" && authenticationResults ? { said: saidOf(authenticationResults) } : {}),
    ...(result === "fail" && status.comment ? { why: status.comment } : {}),
  };
}

function saidOf(results: Record<string, unknown>): NonNullable<ArcResult["said"]> {
  const word = (entry: unknown) => {
    const result = (entry as { result?: unknown } | undefined)?.result;
    return typeof result === "string" ? result.toLowerCase() : undefined;
  };
  const dkim = Array.isArray(results["dkim"]) ? results["dkim"].slice(0, 10).flatMap((entry) => word(entry) ?? []) : [];
  const [spf, dmarc] = [word(results["spf"]), word(results["dmarc"])];
  return { dkim, ...(spf === undefined ? {} : { spf }), ...(dmarc === undefined ? {} : { dmarc }) };
}
