import { createHash, createPublicKey, sign, type KeyObject } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import type { AcmeHttp, AcmeResponse } from "./http.ts";
import { AcmeProblem, problemOf, retryAfter, type ProblemDocument } from "./problem.ts";

/** The objects of RFC 8555 7.1, with the fields used here. */
export interface Order {
  url: string;
  status: "pending" | "ready" | "processing" | "valid" | "invalid";
  authorizations: string[];
  finalize: string;
  certificate?: string;
  error?: ProblemDocument;
}

export interface Authorization {
  status: "pending" | "valid" | "invalid" | "deactivated" | "expired" | "revoked";
  identifier: { type: string; value: string };
  challenges: Challenge[];
}

interface Challenge {
  type: string;
  url: string;
  token: string;
  status: "pending" | "processing" | "valid" | "invalid";
  error?: ProblemDocument;
}

/** Adds the delay that the server requests before the next poll. */
export type WithRetryAfter<Value> = Value & { retryAfterMs: number | undefined };

/**
 * One account on one ACME server (RFC 8555). Throws AcmeProblem if the server rejects a request, and Error for network
 * failures.
 */
export interface AcmeClient {
  /** Creates or finds the account of this key and agrees to the terms of service. Must be called first. */
  register(contact: readonly string[]): Promise<void>;
  newOrder(names: readonly string[]): Promise<WithRetryAfter<Order>>;
  order(url: string): Promise<WithRetryAfter<Order>>;
  authorization(url: string): Promise<WithRetryAfter<Authorization>>;
  /** Asks the server to validate the challenge. */
  challengeReady(url: string): Promise<void>;
  finalize(url: string, request: Uint8Array): Promise<void>;
  /** PEM, including the chain. */
  certificate(url: string): Promise<string>;
  /** Returns the key authorization for a token (8.1). */
  keyAuthorization(token: string): string;
}

interface AcmeClientOptions {
  directory: string;
  /** Private key on P-256. */
  key: KeyObject;
  http: AcmeHttp;
  clock: Pick<Clock, "now">;
  signal: AbortSignal;
}

type Directory = Record<"newNonce" | "newAccount" | "newOrder", string>;
const MAX_BAD_NONCES = 10;

export function createAcmeClient({ directory: directoryUrl, key, http, clock, signal }: AcmeClientOptions): AcmeClient {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: "jwk" });
  const jwk = { crv, kty, x, y };
  // RFC 7638 3: the required members, in lexicographic order, without white space.
  const thumbprint = createHash("sha256").update(JSON.stringify(jwk)).digest("base64url");
  let directoryPromise: Promise<Directory> | undefined;
  let account: string | undefined;
  let nonce: string | undefined;

  async function readDirectory(): Promise<Directory> {
    const response = await http("GET", directoryUrl, undefined, signal);
    if (response.status !== 200) throw problemOf(response, directoryUrl, clock.now());
    const fetchedDirectory = jsonOf<Partial<Directory>>(response, directoryUrl);
    if (
      ![fetchedDirectory.newNonce, fetchedDirectory.newAccount, fetchedDirectory.newOrder].every(
        (url) => typeof url === "string",
      )
    )
      throw new AcmeProblem(`${directoryUrl} is not the directory of an ACME server`, "");
    return fetchedDirectory as Directory;
  }
  const directory = () => (directoryPromise ??= readDirectory());

  async function freshNonce(): Promise<string> {
    const response = await http("HEAD", (await directory()).newNonce, undefined, signal);
    const replayNonce = response.header("replay-nonce");
    if (replayNonce === undefined) throw problemOf(response, "The nonce request", clock.now());
    return replayNonce;
  }

  /** Without `payload`: POST-as-GET (6.3). */
  async function post(url: string, payload?: object): Promise<AcmeResponse> {
    for (let badNonceCount = 0; ; badNonceCount++) {
      // A nonce can be used only once, so it is removed before use.
      const currentNonce = nonce;
      nonce = undefined;
      const head = {
        alg: "ES256",
        nonce: currentNonce ?? (await freshNonce()),
        url,
        ...(account === undefined ? { jwk } : { kid: account }),
      };
      const signed = `${base64url(JSON.stringify(head))}.${payload === undefined ? "" : base64url(JSON.stringify(payload))}`;
      const [protectedHead, body] = signed.split(".");
      const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
      const response = await http(
        "POST",
        url,
        JSON.stringify({ protected: protectedHead, payload: body, signature }),
        signal,
      );
      nonce = response.header("replay-nonce");
      if (response.status < 300) return response;
      const problem = problemOf(response, url, clock.now());
      // 6.5: a nonce may expire at any time.
      if (problem.type !== "badNonce" || badNonceCount === MAX_BAD_NONCES) throw problem;
    }
  }

  async function fetchResource<Value>(url: string, payload?: object): Promise<WithRetryAfter<Value>> {
    const response = await post(url, payload);
    const location = response.header("location");
    return {
      url: payload === undefined ? url : location,
      ...jsonOf<Value & object>(response, url),
      retryAfterMs: retryAfter(response, clock.now()),
    } as WithRetryAfter<Value>;
  }

  return {
    async register(contact) {
      account = undefined;
      // 7.3: returns the existing account for the key.
      const response = await post((await directory()).newAccount, { termsOfServiceAgreed: true, contact });
      const location = response.header("location");
      if (location === undefined)
        throw new AcmeProblem("The ACME server created an account but returned no account URL (Location)", "");
      account = location;
    },
    newOrder: async (names) =>
      fetchResource((await directory()).newOrder, { identifiers: names.map((value) => ({ type: "dns", value })) }),
    order: (url) => fetchResource(url),
    authorization: (url) => fetchResource(url),
    challengeReady: async (url) => void (await post(url, {})),
    finalize: async (url, request) => void (await post(url, { csr: Buffer.from(request).toString("base64url") })),
    certificate: async (url) => (await post(url)).text,
    keyAuthorization: (token) => `${token}.${thumbprint}`,
  };
}

const base64url = (text: string) => Buffer.from(text).toString("base64url");

function jsonOf<Value>({ text }: AcmeResponse, url: string): Value {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Value;
  } catch {
    // Invalid JSON: reported below.
  }
  throw new AcmeProblem(`${url} did not respond with a JSON object`, "");
}
