import { s3Errors } from "./errors.ts";

/** The target of a request: an account in the host name or path, a bucket and a key. */
export interface S3Address {
  /** Undefined in development, where there are no accounts. */
  account: string | undefined;
  /** Set for requests to the endpoint of one jurisdiction. */
  jurisdiction: "eu" | "fedramp" | undefined;
  /** Undefined for the list of buckets. */
  bucket: string | undefined;
  /** Undefined for the bucket itself. */
  key: string | undefined;
}

/** Endpoints of the S3 API. */
export interface S3Endpoints {
  /**
   * `<account>.<domain>/<bucket>/<key>` and `<bucket>.<account>.<domain>/<key>`. An empty domain disables these
   * addresses.
   */
  domain: string;
  /** Path of the endpoint on other hosts, with a trailing slash. */
  prefix: string;
  /** True if the account follows the prefix: `<prefix><account>/<bucket>/<key>`. */
  accountInPath: boolean;
}

interface HostAddress {
  account: string;
  jurisdiction: S3Address["jurisdiction"];
  bucket: string | undefined;
}

/** Parses a lower-case host name without a port. Returns undefined if the host does not belong to the S3 API. */
export function parseS3Host(host: string, domain: string): HostAddress | undefined {
  if (domain === "" || !host.endsWith(`.${domain}`)) return undefined;
  const labels = host.slice(0, -domain.length - 1).split(".");
  const lastLabel = labels.at(-1);
  const jurisdiction = lastLabel === "eu" || lastLabel === "fedramp" ? lastLabel : undefined;
  if (jurisdiction !== undefined) labels.pop();
  const account = labels.pop();
  if (account === undefined || !/^[0-9a-f]{32}$/.test(account) || labels.length > 1) return undefined;
  return { account, jurisdiction, bucket: labels[0] };
}

/** Throws invalidUri, invalidArgument. */
export function parseS3Address(host: string, path: string, { domain, prefix, accountInPath }: S3Endpoints): S3Address {
  const hostAddress = parseS3Host(host, domain);
  if (hostAddress !== undefined) {
    const rest = path.slice(1);
    if (hostAddress.bucket !== undefined) return { ...hostAddress, key: rest === "" ? undefined : decode(rest) };
    return { ...hostAddress, ...bucketAndKey(rest) };
  }
  let rest = path.slice(prefix.length);
  if (!accountInPath) return { account: undefined, jurisdiction: undefined, ...bucketAndKey(rest) };
  const [, account, afterAccount] = /^([0-9a-f]{32})(?:\/(.*))?$/s.exec(rest) ?? [];
  if (account === undefined)
    throw s3Errors.invalidArgument({ problem: `The endpoint must end with the account id: ${prefix}<account id>.` });
  rest = afterAccount ?? "";
  return { account, jurisdiction: undefined, ...bucketAndKey(rest) };
}

function bucketAndKey(path: string): Pick<S3Address, "bucket" | "key"> {
  if (path === "") return { bucket: undefined, key: undefined };
  const slash = path.indexOf("/");
  if (slash < 0) return { bucket: decode(path), key: undefined };
  const key = path.slice(slash + 1);
  return { bucket: decode(path.slice(0, slash)), key: key === "" ? undefined : decode(key) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (err) {
    throw s3Errors.invalidUri({}, { cause: err });
  }
}
