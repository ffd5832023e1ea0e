import { lookup as dnsLookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { getCACertificates } from "node:tls";
import { messageOf } from "./errors.ts";
import { isLoopbackAddress, isNonPublicAddress, type NetworkSet } from "./networks.ts";
import { createOwnAddresses } from "./own-addresses.ts";

type FetchFailure = "badUrl" | "refused" | "unreachable" | "tooManyRedirects" | "tooSlow" | "tooLarge";

/** Failures that a retry does not fix: addresses blocked by the guard, for example, remain blocked. */
const PERMANENT_FAILURES: readonly FetchFailure[] = ["badUrl", "refused", "tooManyRedirects", "tooLarge"];

/**
 * Failure to fetch a user's URL, which callers map to an error of their own domain. The message reveals neither the
 * response of a blocked address nor the resolved address, which is in `cause` for the log.
 */
export class FetchError extends Error {
  override readonly name = "FetchError";
  readonly kind: FetchFailure;

  constructor(kind: FetchFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  get permanent(): boolean {
    return PERMANENT_FAILURES.includes(this.kind);
  }
}

const unreachable = (host: string, reason: string, options?: ErrorOptions) =>
  new FetchError("unreachable", `cannot reach ${host}: ${reason}`, options);
const tooSlow = (host: string, rule: string) => new FetchError("tooSlow", `${host} is too slow: ${rule}`);
const tooLarge = (host: string, limit: number) =>
  new FetchError("tooLarge", `the response of ${host} exceeds ${limit} bytes`);

/** Resolves a host name to its addresses. */
export type AddressLookup = (host: string) => Promise<string[]>;

interface GuardedFetchOptions {
  /**
   * True to allow loopback, private and link-local addresses and those of this machine. A function is called for each
   * request.
   */
  allowPrivate: boolean | (() => boolean);
  /** Addresses of this machine. Default: those of its interfaces. */
  own?: NetworkSet;
  /** Default: the system resolver. */
  lookup?: AddressLookup;
  /** Trusted certificates in addition to the system's, PEM. */
  ca?: string;
  userAgent?: string;
}

interface GuardedRequest {
  method?: "GET" | "HEAD" | "POST";
  headers?: Record<string, string>;
  /** Sent with POST. */
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /**
   * Maximum number of redirects for GET and HEAD. Default 5. POST does not follow redirects: the redirect is returned
   * as the response.
   */
  redirects?: number;
  /** Time limit for the headers of each hop. Default 20 s. */
  headersTimeoutMs?: number;
  /** Time limit for everything including the body. Default 60 s. */
  totalTimeoutMs?: number;
  /** Maximum size of the body in bytes. Default 1 MiB. */
  maxBytes?: number;
  /** Minimum number of bytes per half minute while the reader waits. Default 1. */
  minBytesPerWindow?: number;
}

export interface GuardedResponse {
  /** The final URL after redirects. */
  url: URL;
  status: number;
  /** Lower-case names; for repeated headers, the first value. */
  headers: Record<string, string | undefined>;
  /**
   * Can be read once; stopping early ends the request. Throws FetchError; a response that ends before its declared
   * length is `unreachable`.
   */
  body: AsyncIterable<Uint8Array>;
  /** Resolves with the first bytes of the body; ends the request. */
  text(octets: number): Promise<string>;
  /** Closes the connection; data that has been read remains available. Call this if the body is not read. */
  close(): void;
}

export type GuardedFetch = (url: string, request?: GuardedRequest) => Promise<GuardedResponse>;

/** A request in progress: target, content and limits. */
interface ActiveRequest extends Required<Omit<GuardedRequest, "signal" | "body">> {
  body?: string | Uint8Array;
  signal: AbortSignal;
}

const WINDOW_MS = 30_000;

/**
 * Fetches URLs from users without reaching the local network: http and https only, no credentials in the URL, connects
 * only to checked addresses (DNS rebinding has no effect), checks every redirect, and limits time and size. One
 * connection per request; nothing is cached or decoded. Throws FetchError.
 */
export function createGuardedFetch({
  allowPrivate,
  own: isOwnAddress = createOwnAddresses({ cacheMs: 0 }).has,
  lookup = systemLookup,
  ca,
  userAgent = "reelpost",
}: GuardedFetchOptions): GuardedFetch {
  const trusted = ca === undefined ? undefined : [...getCACertificates("default"), ca];
  const mayConnect = () => (typeof allowPrivate === "function" ? allowPrivate() : allowPrivate) || undefined;

  async function sendRequest(url: URL, activeRequest: ActiveRequest): Promise<IncomingMessage> {
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const headersLimit = timeLimit(activeRequest.headersTimeoutMs, () =>
      tooSlow(host, `it did not respond within ${activeRequest.headersTimeoutMs / 1000} s`),
    );
    const signal = AbortSignal.any([activeRequest.signal, headersLimit.signal]);
    try {
      const addresses = await aborting(
        signal,
        resolveAllowed(host, lookup, mayConnect() === true ? undefined : isOwnAddress),
      );
      return await aborting(signal, send(url, { ...activeRequest, signal }, { host, addresses, trusted }));
    } catch (err) {
      throw signal.aborted ? signal.reason : err;
    } finally {
      headersLimit.clear();
    }
  }

  return async (text, options = {}) => {
    const {
      method = "GET",
      redirects = 5,
      headersTimeoutMs = 20_000,
      totalTimeoutMs = 60_000,
      maxBytes = 1024 * 1024,
      minBytesPerWindow = 1,
      headers = {},
      body,
    } = options;
    let url = readUrl(text);
    const over = timeLimit(totalTimeoutMs, () =>
      tooSlow(url.hostname, `no complete response within ${totalTimeoutMs / 1000} s`),
    );
    const signal = options.signal === undefined ? over.signal : AbortSignal.any([over.signal, options.signal]);
    const activeRequest: ActiveRequest = {
      method,
      redirects,
      headersTimeoutMs,
      totalTimeoutMs,
      maxBytes,
      minBytesPerWindow,
      signal,
      headers: { "user-agent": userAgent, accept: "*/*", "accept-encoding": "identity", ...headers },
      ...(body !== undefined && { body }),
    };
    try {
      for (let redirectCount = 0; ; redirectCount++) {
        const answer = await sendRequest(url, activeRequest);
        const next = method === "POST" || redirects === 0 ? undefined : redirectOf(answer, url);
        if (next === undefined) return response(url, answer, activeRequest, over.clear);
        answer.destroy();
        if (redirectCount >= redirects)
          throw new FetchError("tooManyRedirects", `${url.hostname} redirected more than ${redirects} times`);
        if (next.origin !== url.origin) activeRequest.headers = withoutCredentials(activeRequest.headers);
        url = next;
      }
    } catch (err) {
      over.clear();
      throw err;
    }
  };
}

export const systemLookup: AddressLookup = async (host) =>
  (await dnsLookup(host, { all: true })).map(({ address }) => address);

/** Validates a user's URL. Throws FetchError badUrl. */
export function readUrl(text: string): URL {
  const createBadUrlError = (reason: string) => new FetchError("badUrl", reason);
  if (text.length > 4096) throw createBadUrlError("it is longer than 4096 characters");
  // URL parsers strip surrounding control characters, but code that stores the text does not.
  if (/\p{Cc}/u.test(text)) throw createBadUrlError("it contains control characters");
  const url = URL.parse(text);
  if (url === null) throw createBadUrlError(`${JSON.stringify(text.slice(0, 200))} is not an absolute URL`);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw createBadUrlError(`its scheme is ${url.protocol}; only http: and https: are supported`);
  // Requests must not reach mail servers.
  if (url.port === "25") throw createBadUrlError("port 25 is closed");
  if (url.username !== "" || url.password !== "")
    throw createBadUrlError("user names and passwords in a URL are not supported");
  return url;
}

/**
 * Resolves a host to allowed addresses: at most eight, only public ones. `isOwnAddress`: addresses of this machine; if
 * absent, private addresses are allowed, too. Throws FetchError unreachable, refused.
 */
export async function resolveAllowed(
  host: string,
  lookup: AddressLookup,
  isOwnAddress: NetworkSet | undefined,
): Promise<string[]> {
  const found =
    isIP(host) !== 0
      ? [host]
      : await lookup(host).catch((err: unknown) => {
          throw unreachable(host, "its host name cannot be resolved", { cause: err });
        });
  if (found.length === 0) throw unreachable(host, "its host name has no address");
  const usable = found.filter(
    (address) =>
      isIP(address) !== 0 &&
      (isOwnAddress === undefined ||
        !(isLoopbackAddress(address) || isNonPublicAddress(address) || isOwnAddress(address))),
  );
  if (usable.length === 0)
    throw new FetchError("refused", `${host} does not resolve to a public IP address`, {
      cause: new Error(`it resolves to ${found[0]}`),
    });
  return usable.slice(0, 8);
}

interface Destination {
  host: string;
  addresses: string[];
  trusted: string[] | undefined;
}

function send(
  url: URL,
  { method, headers, body, signal }: ActiveRequest,
  { host, addresses, trusted }: Destination,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = {
    method,
    agent: false,
    signal,
    lookup: pinned(addresses),
    autoSelectFamily: true,
    headers: {
      ...headers,
      host: url.host,
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
    // A host name is resolved with `lookup`; a literal address has already been checked.
    host,
    port: url.port,
    path: url.pathname + url.search,
  };
  let outgoing: ClientRequest;
  if (url.protocol === "https:") {
    // Ignores NODE_TLS_REJECT_UNAUTHORIZED: certificates are always verified.
    outgoing = requestHttps({
      ...options,
      rejectUnauthorized: true,
      ...(isIP(host) === 0 && { servername: host }),
      ...(trusted && { ca: trusted }),
    });
  } else {
    outgoing = requestHttp(options);
  }
  outgoing.on("error", (err) => reject(unreachable(host, reasonOf(err), { cause: err })));
  outgoing.once("response", resolve).once("upgrade", (_, socket) => {
    socket.destroy();
    reject(unreachable(host, "its response is not HTTP"));
  });
  outgoing.end(body);
  return promise;
}

/** An AggregateError for several addresses has no message of its own. */
const reasonOf = (err: Error): string =>
  err instanceof AggregateError ? (err.errors.map(messageOf)[0] ?? "no connection") : err.message;

function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, { all }, done) =>
    setImmediate(() => (all === true ? done(null, found) : done(null, found[0]!.address, found[0]!.family)));
}

function redirectOf(answer: IncomingMessage, from: URL): URL | undefined {
  const {
    statusCode,
    headers: { location },
  } = answer;
  if (location === undefined || ![301, 302, 303, 307, 308].includes(statusCode ?? 0)) return undefined;
  try {
    const to = URL.parse(location, from);
    if (to === null) throw new FetchError("badUrl", `${from.hostname} redirects to an invalid URL`);
    return readUrl(to.href);
  } catch (err) {
    // A response that is never read would never end.
    answer.destroy();
    throw err;
  }
}

const withoutCredentials = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(authorization|cookie|proxy-authorization)$/i.test(name)),
  );

function response(url: URL, answer: IncomingMessage, activeRequest: ActiveRequest, over: () => void): GuardedResponse {
  const close = () => {
    over();
    answer.destroy();
  };
  // If a response is cut off before it is read, its reader must still receive the error.
  answer.on("error", () => {}).once("close", over);
  const body = readBody(url.hostname, answer, activeRequest, close);
  return {
    url,
    body,
    close,
    status: answer.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
    ),
    async text(octets) {
      const parts: Uint8Array[] = [];
      let size = 0;
      for await (const responseChunk of body) {
        parts.push(responseChunk);
        size += responseChunk.length;
        if (size >= octets) break;
      }
      return Buffer.concat(parts).subarray(0, octets).toString("utf8");
    },
  };
}

async function* readBody(
  host: string,
  answer: IncomingMessage,
  { maxBytes, minBytesPerWindow, signal }: ActiveRequest,
  close: () => void,
): AsyncGenerator<Uint8Array> {
  const declared = answer.headers["content-length"];
  const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let size = 0;
  // Only time spent waiting for the server counts: a slow local disk must not make the origin appear slow.
  let [waitedMs, octets] = [0, 0];
  let slowError: Error | undefined;
  const stop = () =>
    answer.destroy(
      (slowError = tooSlow(host, `less than ${minBytesPerWindow} bytes were received in ${WINDOW_MS / 1000} s`)),
    );
  try {
    if (declared !== undefined && Number(declared) > maxBytes) throw tooLarge(host, maxBytes);
    for (;;) {
      const requestedAt = performance.now();
      const timer = setTimeout(stop, WINDOW_MS - waitedMs).unref();
      const { done, value } = await pieces.next().finally(() => clearTimeout(timer));
      if (done === true) return;
      size += value.length;
      if (size > maxBytes) throw tooLarge(host, maxBytes);
      waitedMs += performance.now() - requestedAt;
      octets += value.length;
      if (octets >= minBytesPerWindow) [waitedMs, octets] = [0, 0];
      yield value;
    }
  } catch (err) {
    if (signal.aborted) throw signal.reason;
    throw (
      slowError ?? (err instanceof FetchError ? err : unreachable(host, "the response was incomplete", { cause: err }))
    );
  } finally {
    close();
  }
}

function timeLimit(ms: number, reason: () => Error): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(reason()), Math.max(0, ms)).unref();
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** The awaited operation may continue after the wait has been aborted. */
async function aborting<Value>(signal: AbortSignal, pendingValue: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  pendingValue.catch(() => {});
  try {
    return await Promise.race([pendingValue, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
