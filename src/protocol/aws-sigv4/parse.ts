import type { CredentialScope } from "./sign.ts";

/** The parameters of a signature, from the `Authorization` header or a presigned URL. */
export interface SignatureParameters {
  accessKeyId: string;
  scope: CredentialScope;
  /** Lower-case names in the order of the signature. */
  signedHeaders: string[];
  /** 64 lower-case hex digits. */
  signature: string;
  /** `YYYYMMDDTHHMMSSZ` */
  time: string;
  /** Epoch milliseconds of `time`. */
  timestamp: number;
  /** Validity of a presigned URL in seconds; undefined for a signature in a header. */
  expires?: number;
}

/** If the signature is malformed, `why` is the reason. */
type SignatureReading = { ok: true; parameters: SignatureParameters } | { ok: false; why: string };

const ALGORITHM = "AWS4-HMAC-SHA256";
const MAX_EXPIRES_SECONDS = 604_800;
const MAX_SIGNED_HEADERS = 100;

/** `date` is the header `X-Amz-Date`, or `Date` if that is absent. */
export function readAuthorization(header: string, date: string | undefined): SignatureReading {
  if (!header.startsWith(`${ALGORITHM} `)) return fail(`the algorithm must be ${ALGORITHM}`);
  const fields = new Map(
    header
      .slice(ALGORITHM.length)
      .split(",")
      .map((field): [string, string] => {
        const equalsSign = field.indexOf("=");
        return [field.slice(0, equalsSign).trim(), field.slice(equalsSign + 1).trim()];
      }),
  );
  const time = date === undefined ? undefined : toBasicTime(date);
  if (time === undefined) return fail("x-amz-date must be a time such as 20300101T000000Z");
  return readFields({
    credential: fields.get("Credential"),
    signedHeaders: fields.get("SignedHeaders"),
    signature: fields.get("Signature"),
    time,
  });
}

export function readPresigned(query: ReadonlyMap<string, string>): SignatureReading {
  if (query.get("X-Amz-Algorithm") !== ALGORITHM) return fail(`X-Amz-Algorithm must be ${ALGORITHM}`);
  const expiresText = query.get("X-Amz-Expires") ?? "";
  const expires = /^\d{1,9}$/.test(expiresText) ? Number(expiresText) : Number.NaN;
  if (!(expires >= 1 && expires <= MAX_EXPIRES_SECONDS))
    return fail(`X-Amz-Expires must be a number of seconds from 1 to ${MAX_EXPIRES_SECONDS}`);
  const result = readFields({
    credential: query.get("X-Amz-Credential"),
    signedHeaders: query.get("X-Amz-SignedHeaders"),
    signature: query.get("X-Amz-Signature"),
    time: query.get("X-Amz-Date") ?? "",
  });
  return result.ok ? { ok: true, parameters: { ...result.parameters, expires } } : result;
}

interface SignatureFields {
  credential: string | undefined;
  signedHeaders: string | undefined;
  signature: string | undefined;
  time: string;
}

function readFields({ credential = "", signedHeaders = "", signature = "", time }: SignatureFields): SignatureReading {
  const [, accessKeyId, day, region, service] =
    /^([^/]{1,256})\/(\d{8})\/([A-Za-z0-9-]{0,64})\/([a-z0-9-]{1,64})\/aws4_request$/.exec(credential) ?? [];
  if (accessKeyId === undefined || day === undefined || region === undefined || service === undefined)
    return fail("the credential must be <access key id>/<YYYYMMDD>/<region>/s3/aws4_request");
  if (!/^[0-9a-f]{64}$/.test(signature)) return fail("the signature must be 64 hexadecimal digits");
  const headerNames = signedHeaders.split(";");
  if (headerNames.length > MAX_SIGNED_HEADERS || !headerNames.every((name) => /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)))
    return fail("the signed headers must be lower-case names separated by semicolons");
  if (!headerNames.includes("host")) return fail("the header host must be signed");
  const timestamp = timestampOf(time);
  if (timestamp === undefined) return fail("the date must be a time such as 20300101T000000Z");
  if (!time.startsWith(day)) return fail("the date of the credential differs from the date of the request");
  return {
    ok: true,
    parameters: {
      accessKeyId,
      scope: { day, region, service },
      signedHeaders: headerNames,
      signature,
      time,
      timestamp,
    },
  };
}

const fail = (why: string): SignatureReading => ({ ok: false, why });

function timestampOf(time: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const timestamp = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(timestamp) ? undefined : timestamp;
}

/** Converts an HTTP date (`Date`) to the format of `X-Amz-Date`. A date in that format is returned unchanged. */
function toBasicTime(date: string): string | undefined {
  if (/^\d{8}T\d{6}Z$/.test(date)) return date;
  const timestamp = Date.parse(date);
  return Number.isNaN(timestamp)
    ? undefined
    : `${new Date(timestamp).toISOString().replace(/[-:]/g, "").slice(0, 15)}Z`;
}
