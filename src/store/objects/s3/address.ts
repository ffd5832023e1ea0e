import { storeErrors } from "../../errors.ts";

/** A bucket, and the key prefix that belongs to this installation. */
export interface S3Location {
  bucket: string;
  /** Empty, or ends with "/". */
  prefix: string;
  /** Undefined: AWS. */
  endpoint: string | undefined;
  /** If undefined, AWS_REGION or the region of the profile applies. */
  region: string | undefined;
  /** True if the bucket is part of the path instead of the host name. */
  pathStyle: boolean;
}

const PARAMETERS = ["endpoint", "region", "path_style"];
/** S3's naming rules for buckets, and the underscores and capitals that older servers allow. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const PREFIX = /^(?:[A-Za-z0-9_\-+=@~][A-Za-z0-9._\-+=@~]*\/)*$/;
/** S3 allows 1024 bytes for prefix and key. */
const MAX_PREFIX_LENGTH = 100;

/**
 * Parses `s3://bucket/prefix?endpoint=…&region=…&path_style=…`. An endpoint implies path-style URLs, because few
 * servers other than AWS have a host name for each bucket. Throws StoreError badObjectsUrl.
 */
export function parseObjectsUrl(text: string): S3Location {
  const invalid = (reason: string) => storeErrors.badObjectsUrl({ url: withoutPassword(text), reason });
  if (!text.startsWith("s3://")) throw invalid("it does not begin with s3://");
  let url: URL;
  try {
    // As the host of a URL, the bucket name would be converted to lower case.
    url = new URL(text.replace(/^s3:\/\/(?:[^/?]*@)?[^/?]*/, "http://bucket"));
  } catch {
    throw invalid("it is not a URL");
  }
  const [, authority = ""] = /^s3:\/\/([^/?#]*)/.exec(text) ?? [];
  if (authority.includes("@"))
    throw invalid(
      "it contains credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead",
    );
  if (!BUCKET.test(authority)) throw invalid(`${JSON.stringify(authority)} is not the name of a bucket`);
  if (url.hash !== "") throw invalid("it contains #");
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw invalid(`it has an unknown parameter ${unknown}; known are ${PARAMETERS.join(", ")}`);

  const path = url.pathname.slice(1).replace(/\/$/, "");
  const prefix = path === "" ? "" : `${path}/`;
  if (!PREFIX.test(prefix) || prefix.length > MAX_PREFIX_LENGTH)
    throw invalid(
      `the prefix must consist of segments of A-Z a-z 0-9 . _ - + = @ ~ and have at most ${MAX_PREFIX_LENGTH} characters`,
    );
  const endpoint = url.searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !isHttpUrl(endpoint))
    throw invalid(`the endpoint ${JSON.stringify(endpoint)} is not an http or https URL without a path`);
  const region = url.searchParams.get("region") ?? undefined;
  if (region !== undefined && !/^[A-Za-z0-9-]{1,64}$/.test(region))
    throw invalid(`${JSON.stringify(region)} is not the name of a region`);
  const pathStyle = url.searchParams.get("path_style") ?? String(endpoint !== undefined);
  if (pathStyle !== "true" && pathStyle !== "false") throw invalid("path_style must be true or false");
  return { bucket: authority, prefix, endpoint, region, pathStyle: pathStyle === "true" };
}

/** Returns the address shown in error messages: the endpoint, or the service and region. */
export const addressOf = ({ endpoint, region }: Pick<S3Location, "endpoint" | "region">): string =>
  endpoint ?? `Amazon S3${region === undefined ? "" : ` in ${region}`}`;

function isHttpUrl(text: string): boolean {
  try {
    const { protocol, pathname, search, hash, username } = new URL(text);
    return /^https?:$/.test(protocol) && pathname === "/" && search === "" && hash === "" && username === "";
  } catch {
    return false;
  }
}

const withoutPassword = (text: string) => text.replace(/^(s3:\/\/)[^/?#]*@/, "$1***@");
