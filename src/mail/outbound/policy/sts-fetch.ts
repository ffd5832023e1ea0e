import { request } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { getCACertificates } from "node:tls";
import { messageOf } from "../../../kernel/index.ts";
import { MAX_POLICY_BYTES, readPolicy, type StsPolicy } from "../../../protocol/mtasts/index.ts";
import { certificateFailure } from "../smtp/tls-failure.ts";
import type { MailResolver, TlsFailureType } from "../types.ts";

interface StsFetchOptions {
  resolver: Pick<MailResolver, "resolve4" | "resolve6">;
  /** True if the DNS records of a policy host may direct a request to this address. */
  mayConnect: (address: string) => boolean;
  /** Default 443. */
  port?: number;
  /** Trusted certificates in addition to the system's, PEM. */
  ca?: string;
  /** RFC 8461 3.3 suggests a minute, but mail waits for the result, so the default is 10 s. */
  timeoutMs?: number;
}

export type StsFetchResult = { ok: true; policy: StsPolicy } | { ok: false; why: string; failure: TlsFailureType };

/**
 * Fetches the policy of a domain (RFC 8461 3.3): over HTTPS, from a host with a certificate for its name, without
 * following redirects. Never rejects.
 */
export function createStsFetch({
  resolver,
  mayConnect,
  port = 443,
  ca,
  timeoutMs = 10_000,
}: StsFetchOptions): (domain: string, signal: AbortSignal) => Promise<StsFetchResult> {
  const trustedCas = ca === undefined ? undefined : [...getCACertificates("default"), ca];
  const lookup = lookupBy(resolver, mayConnect);

  function get(host: string, signal: AbortSignal): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const clientRequest = request({
      host,
      port,
      path: "/.well-known/mta-sts.txt",
      servername: host,
      agent: false,
      lookup,
      minVersion: "TLSv1.2",
      signal,
      headers: { accept: "text/plain" },
      // Ignores NODE_TLS_REJECT_UNAUTHORIZED: certificates are always verified.
      rejectUnauthorized: true,
      ...(trustedCas && { ca: trustedCas }),
    });
    clientRequest.once("error", reject).once("response", (response) => {
      response.once("error", reject);
      const problem = problemOf(response.statusCode, response.headers["content-type"]);
      if (problem !== undefined) {
        reject(new Error(problem));
        return void clientRequest.destroy();
      }
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size <= MAX_POLICY_BYTES) return;
        reject(new Error(`the policy is larger than ${MAX_POLICY_BYTES} bytes`));
        clientRequest.destroy();
      });
      response.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    });
    clientRequest.end();
    return promise;
  }

  return async (domain, signal) => {
    try {
      const reading = readPolicy(
        await get(`mta-sts.${domain}`, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])),
      );
      return reading.ok ? reading : { ok: false, why: reading.why, failure: "sts-policy-invalid" };
    } catch (err) {
      return { ok: false, why: messageOf(err), failure: failureOf(err) };
    }
  };
}

function failureOf(err: unknown): TlsFailureType {
  return certificateFailure((err as NodeJS.ErrnoException).code) === undefined
    ? "sts-policy-fetch-error"
    : "sts-webpki-invalid";
}

function problemOf(status: number | undefined, type = ""): string | undefined {
  if (status !== 200) return `the request for mta-sts.txt failed with status ${status}`;
  // RFC 8461 3.2: images or pages uploaded by users of the host are not policies.
  return /^text\/plain\s*(;|$)/i.test(type)
    ? undefined
    : `mta-sts.txt has the type ${JSON.stringify(type.slice(0, 60))}, not text/plain`;
}

/** Uses our own resolver instead of the system's, and blocks private addresses. */
function lookupBy(resolver: StsFetchOptions["resolver"], mayConnect: (address: string) => boolean): LookupFunction {
  type Answer = Parameters<Parameters<LookupFunction>[2]>;
  async function find(host: string, wantsAll: boolean): Promise<Answer> {
    const settledLookups = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = settledLookups.flatMap((lookupResult) =>
      lookupResult.status === "fulfilled" ? lookupResult.value : [],
    );
    if (addresses.length === 0)
      throw (
        settledLookups.find((lookupResult) => lookupResult.status === "rejected")?.reason ??
        new Error(`${host} has no address`)
      );
    const usableAddresses = addresses.filter(mayConnect);
    if (usableAddresses.length === 0)
      throw new Error(`${host} resolves to ${addresses[0]}: connections to this address are not allowed`);
    const lookupAddresses = usableAddresses.map((address) => ({ address, family: isIP(address) }));
    return wantsAll ? [null, lookupAddresses] : [null, lookupAddresses[0]!.address, lookupAddresses[0]!.family];
  }
  return async (host, { all: wantsAll }, done) => {
    const answer = await find(host, wantsAll === true).catch((err: unknown): Answer => [
      err as NodeJS.ErrnoException,
      [],
    ]);
    // Runs outside the promise, so that the caller receives exceptions thrown by its callback.
    setImmediate(done, ...answer);
  };
}
