import type { Caller } from "../../accounts/index.ts";
import type { Clock } from "../../kernel/index.ts";
import {
  canonicalRequest,
  readAuthorization,
  readPresigned,
  sameSignature,
  signingKey,
  signRequest,
  type ChunkSigning,
  type Signed,
} from "../../protocol/aws-sigv4/index.ts";
import { s3Errors } from "./errors.ts";

/** An access key and the permissions of its token. */
export interface S3Key {
  secret: string;
  allows: Caller["allows"];
}

/** Undefined: unknown, revoked, or not valid now. */
export type FindS3Key = (accessKeyId: string, ip: string | undefined) => Promise<S3Key | undefined>;

/** How the body is signed. */
export type Payload =
  | { kind: "hashed"; sha256: string }
  | { kind: "unsigned" }
  | { kind: "chunked"; signing?: ChunkSigning; trailer: boolean };

interface Authenticated {
  accessKeyId: string;
  key: S3Key;
  payload: Payload;
}

interface S3Request {
  method: string;
  /** With its percent-encoding. */
  path: string;
  query: readonly (readonly [string, string])[];
  /** By lower-case name. */
  headers: Readonly<Record<string, string | undefined>>;
  ip: string | undefined;
}

const SKEW_MS = 15 * 60_000;

/** Authenticates requests with Signature Version 4, in the header or in a presigned URL. */
export function createS3Authenticator({ findKey, clock }: { findKey: FindS3Key; clock: Clock }) {
  return async function authenticate(request: S3Request): Promise<Authenticated> {
    const { headers, query, method, path } = request;
    const parameters = new Map(query);
    const presigned = parameters.has("X-Amz-Signature") || parameters.has("X-Amz-Algorithm");
    const { authorization } = headers;
    if (presigned && authorization !== undefined)
      throw s3Errors.invalidArgument({ problem: "Use either the header Authorization or a presigned URL, not both." });
    if (!presigned && authorization === undefined)
      throw s3Errors.unauthorized({ why: "sign the request with AWS Signature Version 4" });
    const reading = presigned
      ? readPresigned(parameters)
      : readAuthorization(authorization!, headers["x-amz-date"] ?? headers.date);
    if (!reading.ok) throw s3Errors.malformedAuthorization({ why: reading.why });
    const { signed } = reading;
    if (signed.scope.service !== "s3")
      throw s3Errors.malformedAuthorization({ why: `the service must be s3, not ${signed.scope.service}` });
    checkTime(signed, clock.now());
    checkSignedHeaders(headers, signed, presigned);

    const key = await findKey(signed.accessKeyId, request.ip);
    if (key === undefined) throw s3Errors.unauthorized({ why: "the access key id is not that of an active API token" });
    const payloadHash = presigned
      ? (parameters.get("X-Amz-Content-Sha256") ?? headers["x-amz-content-sha256"] ?? "UNSIGNED-PAYLOAD")
      : headers["x-amz-content-sha256"];
    if (payloadHash === undefined)
      throw s3Errors.invalidRequest({ problem: "The header x-amz-content-sha256 is missing." });
    const signature = signatureOf({ method, path, query, headers }, signed, key.secret, payloadHash);
    if (!sameSignature(signature, signed.signature)) throw s3Errors.signatureDiffers();
    return { accessKeyId: signed.accessKeyId, key, payload: payloadOf(payloadHash, signed, key.secret) };
  };
}

function signatureOf(
  { method, path, query, headers }: Pick<S3Request, "method" | "path" | "query" | "headers">,
  { signedHeaders, scope, time }: Signed,
  secret: string,
  payloadHash: string,
): string {
  const pairs = query.filter(([name]) => name !== "X-Amz-Signature");
  let canonical: string;
  try {
    canonical = canonicalRequest({ method, path, query: pairs, headers }, signedHeaders, payloadHash);
  } catch (err) {
    throw s3Errors.invalidUri({}, { cause: err });
  }
  return signRequest(signingKey(secret, scope), canonical, time, scope);
}

function checkTime({ at, expires }: Signed, now: number): void {
  if (at > now + SKEW_MS) throw s3Errors.skewed();
  if (expires === undefined ? at < now - SKEW_MS : now > at + expires * 1000)
    throw expires === undefined ? s3Errors.skewed() : s3Errors.expired();
}

/** An unsigned header of S3 would change the request that the key's owner signed. */
function checkSignedHeaders(headers: S3Request["headers"], { signedHeaders }: Signed, presigned: boolean): void {
  const names = new Set(signedHeaders);
  const unsigned = Object.keys(headers).find(
    (name) => name.startsWith("x-amz-") && !names.has(name) && !(presigned && name === "x-amz-content-sha256"),
  );
  if (unsigned !== undefined) throw s3Errors.accessDenied({ why: `the header ${unsigned} is not signed` });
}

function payloadOf(hash: string, { scope, time, signature }: Signed, secret: string): Payload {
  const signing = () => ({ key: signingKey(secret, scope), scope, time, seed: signature });
  switch (hash) {
    case "UNSIGNED-PAYLOAD":
      return { kind: "unsigned" };
    case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD":
      return { kind: "chunked", signing: signing(), trailer: false };
    case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER":
      return { kind: "chunked", signing: signing(), trailer: true };
    case "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
      return { kind: "chunked", trailer: true };
    default:
      if (/^[0-9a-f]{64}$/.test(hash)) return { kind: "hashed", sha256: hash };
      throw s3Errors.invalidArgument({
        problem: `The value of x-amz-content-sha256 is not supported: ${JSON.stringify(hash.slice(0, 100))}.`,
      });
  }
}
