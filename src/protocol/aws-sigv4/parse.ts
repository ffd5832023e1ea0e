import type { Scope } from "./sign.ts";

/** The parts of a signature, from the header `Authorization` or from a presigned URL. */
export interface Signed {
  accessKeyId: string;
  scope: Scope;
  /** Lower-case names in order. */
  signedHeaders: string[];
  /** 64 lower-case hex digits. */
  signature: string;
  /** `YYYYMMDDTHHMMSSZ` */
  time: string;
  /** Epoch milliseconds of `time`. */
  at: number;
  /** Validity of a presigned URL in seconds; undefined for a header. */
  expires?: number;
}

/** Undefined, and why: the signature is not well-formed. */
type SignedReading = { ok: true; signed: Signed } | { ok: false; why: string };

const ALGORITHM = "AWS4-HMAC-SHA256";
const MAX_EXPIRES = 604_800;
const MAX_SIGNED_HEADERS = 100;

/** `date`: the header `X-Amz-Date`, or `Date` if it is absent. */
export function readAuthorization(header: string, date: string | undefined): SignedReading {
  if (!header.startsWith(`${ALGORITHM} `)) return fail(`the algorithm must be ${ALGORITHM}`);
  const fields = new Map(
    header
      .slice(ALGORITHM.length)
      .split(",")
      .map((field): [string, string] => {
        const at = field.indexOf("=");
        return [field.slice(0, at).trim(), field.slice(at + 1).trim()];
      }),
  );
  const time = date === undefined ? undefined : basicTime(date);
  if (time === undefined) return fail("x-amz-date must be a time such as 20300101T000000Z");
  return read({
    credential: fields.get("Credential"),
    signedHeaders: fields.get("SignedHeaders"),
    signature: fields.get("Signature"),
    time,
  });
}

export function readPresigned(query: ReadonlyMap<string, string>): SignedReading {
  if (query.get("X-Amz-Algorithm") !== ALGORITHM) return fail(`X-Amz-Algorithm must be ${ALGORITHM}`);
  const text = query.get("X-Amz-Expires") ?? "";
  const expires = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(expires >= 1 && expires <= MAX_EXPIRES))
    return fail(`X-Amz-Expires must be a number of seconds from 1 to ${MAX_EXPIRES}`);
  const reading = read({
    credential: query.get("X-Amz-Credential"),
    signedHeaders: query.get("X-Amz-SignedHeaders"),
    signature: query.get("X-Amz-Signature"),
    time: query.get("X-Amz-Date") ?? "",
  });
  return reading.ok ? { ok: true, signed: { ...reading.signed, expires } } : reading;
}

interface Fields {
  credential: string | undefined;
  signedHeaders: string | undefined;
  signature: string | undefined;
  time: string;
}

function read({ credential = "", signedHeaders = "", signature = "", time }: Fields): SignedReading {
  const [, accessKeyId, day, region, service] =
    /^([^/]{1,256})\/(\d{8})\/([A-Za-z0-9-]{0,64})\/([a-z0-9-]{1,64})\/aws4_request$/.exec(credential) ?? [];
  if (accessKeyId === undefined || day === undefined || region === undefined || service === undefined)
    return fail("the credential must be <access key id>/<YYYYMMDD>/<region>/s3/aws4_request");
  if (!/^[0-9a-f]{64}$/.test(signature)) return fail("the signature must be 64 hexadecimal digits");
  const names = signedHeaders.split(";");
  if (names.length > MAX_SIGNED_HEADERS || !names.every((name) => /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)))
    return fail("the signed headers must be lower-case names separated by semicolons");
  if (!names.includes("host")) return fail("the header host must be signed");
  const at = timeOf(time);
  if (at === undefined) return fail("the date must be a time such as 20300101T000000Z");
  if (!time.startsWith(day)) return fail("the date of the credential differs from the date of the request");
  return {
    ok: true,
    signed: { accessKeyId, scope: { day, region, service }, signedHeaders: names, signature, time, at },
  };
}

const fail = (why: string): SignedReading => ({ ok: false, why });

function timeOf(time: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** An HTTP date (`Date`) in the format of `X-Amz-Date`, which is returned unchanged. */
function basicTime(date: string): string | undefined {
  if (/^\d{8}T\d{6}Z$/.test(date)) return date;
  const at = Date.parse(date);
  return Number.isNaN(at) ? undefined : `${new Date(at).toISOString().replace(/[-:]/g, "").slice(0, 15)}Z`;
}
