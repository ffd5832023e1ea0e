import type { Caller } from "../../accounts/index.ts";
import type { Clock } from "../../kernel/index.ts";
import type { FailureWindows } from "../../kernel/failure-windows.ts";
import { networkOf } from "../../kernel/networks.ts";
import {
  canonicalRequest,
  readAuthorization,
  readPresigned,
  isSameSignature,
  signingKey,
  signRequest,
  type ChunkSigning,
  type SignatureParameters,
} from "../../protocol/aws-sigv4/index.ts";
import { createTtlCache } from "../bindings/recently-seen.ts";
import { s3Errors } from "./errors.ts";

/** An access key and the permissions of its token. */
export interface S3Key {
  secret: string;
  allows: Caller["allows"];
  /** Call after the signature of a request has been verified: records that the key was used. */
  recordUse?(): void;
}

/** Resolves with undefined if the key is unknown, revoked, or not currently valid. */
export type FindS3Key = (accessKeyId: string, ip: string | undefined) => Promise<S3Key | undefined>;

/** How the body of a request is signed. */
export type PayloadSigning =
  | { kind: "hashed"; sha256: string }
  | { kind: "unsigned" }
  | { kind: "chunked"; signing?: ChunkSigning; trailer: boolean };

interface Authentication {
  accessKeyId: string;
  key: S3Key;
  payload: PayloadSigning;
}

interface S3Request {
  method: string;
  /** The path with its percent-encoding. */
  path: string;
  query: readonly (readonly [string, string])[];
  /** Values by lower-case name. */
  headers: Readonly<Record<string, string | undefined>>;
  ip: string | undefined;
}

const MAX_CLOCK_SKEW_MS = 15 * 60_000;
/** How long a network may use an access key after a valid signature with it, despite failed attempts by others. */
const VERIFIED_MS = 15 * 60_000;

/**
 * Authenticates requests with Signature Version 4, in the `Authorization` header or in a presigned URL. `failures`
 * counts unknown access keys and wrong signatures; if absent, failures are not limited.
 */
export function createS3Authenticator({
  findKey,
  clock,
  failures,
}: {
  findKey: FindS3Key;
  clock: Clock;
  failures?: FailureWindows | undefined;
}) {
  const verified = createTtlCache<true>(clock, { freshMs: VERIFIED_MS });

  return async function authenticate(request: S3Request): Promise<Authentication> {
    const { headers, query, method, path } = request;
    const queryParameters = new Map(query);
    const isPresigned = queryParameters.has("X-Amz-Signature") || queryParameters.has("X-Amz-Algorithm");
    const { authorization } = headers;
    if (isPresigned && authorization !== undefined)
      throw s3Errors.invalidArgument({ problem: "Use either the header Authorization or a presigned URL, not both." });
    if (!isPresigned && authorization === undefined)
      throw s3Errors.unauthorized({ why: "sign the request with AWS Signature Version 4" });
    const parsed = isPresigned
      ? readPresigned(queryParameters)
      : readAuthorization(authorization!, headers["x-amz-date"] ?? headers.date);
    if (!parsed.ok) throw s3Errors.malformedAuthorization({ why: parsed.why });
    const { parameters } = parsed;
    if (parameters.scope.service !== "s3")
      throw s3Errors.malformedAuthorization({ why: `the service must be s3, not ${parameters.scope.service}` });
    checkTime(parameters, clock.now());
    checkSignedHeaders(headers, parameters, isPresigned);

    const { ip } = request;
    const networkAndKey = `${networkOf(ip ?? "")}/${parameters.accessKeyId}`;
    const secondsLeft = await failures?.secondsLeft(ip, () => verified.get(networkAndKey) !== undefined);
    if (secondsLeft !== undefined)
      throw s3Errors.slowDown({
        why: `too many failed authentication attempts from your network, wait ${secondsLeft} seconds`,
      });
    const key = await findKey(parameters.accessKeyId, ip);
    if (key === undefined) {
      await failures?.failed(ip);
      throw s3Errors.unauthorized({ why: "no active API token has this access key id" });
    }
    const payloadHash = isPresigned
      ? (queryParameters.get("X-Amz-Content-Sha256") ?? headers["x-amz-content-sha256"] ?? "UNSIGNED-PAYLOAD")
      : headers["x-amz-content-sha256"];
    if (payloadHash === undefined)
      throw s3Errors.invalidRequest({ problem: "The header x-amz-content-sha256 is missing." });
    const signature = signatureOf({ method, path, query, headers }, parameters, key.secret, payloadHash);
    if (!isSameSignature(signature, parameters.signature)) {
      await failures?.failed(ip);
      throw s3Errors.signatureDiffers();
    }
    verified.add(networkAndKey, true);
    key.recordUse?.();
    return { accessKeyId: parameters.accessKeyId, key, payload: payloadOf(payloadHash, parameters, key.secret) };
  };
}

function signatureOf(
  { method, path, query, headers }: Pick<S3Request, "method" | "path" | "query" | "headers">,
  { signedHeaders, scope, time }: SignatureParameters,
  secret: string,
  payloadHash: string,
): string {
  const signedPairs = query.filter(([name]) => name !== "X-Amz-Signature");
  let canonicalText: string;
  try {
    canonicalText = canonicalRequest({ method, path, query: signedPairs, headers }, signedHeaders, payloadHash);
  } catch (err) {
    throw s3Errors.invalidUri({}, { cause: err });
  }
  return signRequest(signingKey(secret, scope), canonicalText, time, scope);
}

function checkTime({ timestamp, expires }: SignatureParameters, now: number): void {
  if (timestamp > now + MAX_CLOCK_SKEW_MS) throw s3Errors.skewed();
  if (expires === undefined ? timestamp < now - MAX_CLOCK_SKEW_MS : now > timestamp + expires * 1000)
    throw expires === undefined ? s3Errors.skewed() : s3Errors.expired();
}

/** Rejects unsigned `x-amz-*` headers: they would change the request that the owner of the key signed. */
function checkSignedHeaders(
  headers: S3Request["headers"],
  { signedHeaders }: SignatureParameters,
  isPresigned: boolean,
): void {
  const names = new Set(signedHeaders);
  const unsignedHeader = Object.keys(headers).find(
    (name) => name.startsWith("x-amz-") && !names.has(name) && !(isPresigned && name === "x-amz-content-sha256"),
  );
  if (unsignedHeader !== undefined) throw s3Errors.accessDenied({ why: `the header ${unsignedHeader} is not signed` });
}

function payloadOf(hash: string, { scope, time, signature }: SignatureParameters, secret: string): PayloadSigning {
  const createSigningContext = () => ({ key: signingKey(secret, scope), scope, time, seedSignature: signature });
  switch (hash) {
    case "UNSIGNED-PAYLOAD":
      return { kind: "unsigned" };
    case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD":
      return { kind: "chunked", signing: createSigningContext(), trailer: false };
    case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER":
      return { kind: "chunked", signing: createSigningContext(), trailer: true };
    case "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
      return { kind: "chunked", trailer: true };
    default:
      if (/^[0-9a-f]{64}$/.test(hash)) return { kind: "hashed", sha256: hash };
      throw s3Errors.invalidArgument({
        problem: `The value of x-amz-content-sha256 is not supported: ${JSON.stringify(hash.slice(0, 100))}.`,
      });
  }
}
