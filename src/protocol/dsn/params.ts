import { decodeUtf8Address, decodeXtext, encodeUtf8Address, encodeXtext } from "./xtext.ts";

/** Delivery notification parameters of MAIL (RFC 3461 4.3, 4.4). */
export interface MailRequest {
  ret?: "FULL" | "HDRS";
  /** Decoded ENVID value. */
  envid?: string;
}

/** Delivery notification parameters of RCPT (RFC 3461 4.1, 4.2). */
export interface RecipientRequest {
  notify?: DsnEvent[];
  /**
   * The address as specified by the sender, before any forwarding: type in lower case, a semicolon, and the decoded
   * address.
   */
  orcpt?: string;
}

/** NEVER excludes all others. */
export type DsnEvent = "NEVER" | "SUCCESS" | "FAILURE" | "DELAY";

/** A parsed ORCPT. */
export interface OriginalRecipient {
  /** "rfc822", "utf-8", "x400" ... */
  type: string;
  /** Decoded ENVID value. */
  address: string;
}

/** `why` is the text for a 501 5.5.4 reply. */
type Reading<T> = { ok: true; value: T } | { ok: false; why: string };

/** Maximum lengths (RFC 3461 4.4 and 4.2). */
const MAX_ENVID_LENGTH = 100;
const MAX_ORCPT_LENGTH = 500;

/** Reads the parameters of MAIL, as on the wire ("RET=HDRS"); ignores parameters of other extensions. */
export function readMailRequest(params: readonly string[]): Reading<MailRequest> {
  const foundValues = valuesOf(params, ["RET", "ENVID"]);
  if (!foundValues.ok) return foundValues;
  const { RET: ret, ENVID: envid } = foundValues.value;
  const value: MailRequest = {};
  if (ret !== undefined) {
    const requestedRet = ret.toUpperCase();
    if (requestedRet !== "FULL" && requestedRet !== "HDRS") return reject("RET is FULL or HDRS");
    value.ret = requestedRet;
  }
  if (envid !== undefined) {
    const id = envid.length <= MAX_ENVID_LENGTH && envid !== "" ? decodeXtext(envid) : undefined;
    if (id === undefined) return reject(`ENVID must be xtext of 1 to ${MAX_ENVID_LENGTH} characters`);
    value.envid = id;
  }
  return { ok: true, value };
}

/** Reads the parameters of RCPT. */
export function readRecipientRequest(params: readonly string[]): Reading<RecipientRequest> {
  const foundValues = valuesOf(params, ["NOTIFY", "ORCPT"]);
  if (!foundValues.ok) return foundValues;
  const { NOTIFY: notify, ORCPT: orcpt } = foundValues.value;
  const value: RecipientRequest = {};
  if (notify !== undefined) {
    const words = notify.toUpperCase().split(",");
    const events = words.every((word) => word === "SUCCESS" || word === "FAILURE" || word === "DELAY");
    if (words.join() !== "NEVER" && !events)
      return reject("NOTIFY must be NEVER, or a list of SUCCESS, FAILURE, DELAY");
    value.notify = [...new Set(words)] as DsnEvent[];
  }
  if (orcpt !== undefined) {
    const original = orcpt.length <= MAX_ORCPT_LENGTH ? readOriginal(orcpt) : undefined;
    if (original === undefined) return reject("ORCPT must be an address type, a semicolon and the address as xtext");
    value.orcpt = `${original.type};${original.address}`;
  }
  return { ok: true, value };
}

/** Parses a stored ORCPT for the Original-Recipient of a report. */
function parseOriginalRecipient(orcpt: string): OriginalRecipient | undefined {
  const semicolon = orcpt.indexOf(";");
  return semicolon < 1 || semicolon === orcpt.length - 1
    ? undefined
    : { type: orcpt.slice(0, semicolon), address: orcpt.slice(semicolon + 1) };
}

function readOriginal(orcpt: string): OriginalRecipient | undefined {
  const [, type, text] = /^([A-Za-z0-9-]{1,64});(.+)$/.exec(orcpt) ?? [];
  if (type === undefined || text === undefined) return undefined;
  // RFC 6533 3: the utf-8 type has its own encoding, or uses raw UTF-8 if the session uses SMTPUTF8.
  if (type.toLowerCase() === "utf-8")
    return /\p{Cc}|\s/u.test(text)
      ? undefined
      : { type: "utf-8", address: decodeUtf8Address(decodeXtext(text) ?? text) };
  const address = decodeXtext(text);
  return address === undefined || address === "" || /\p{Cc}/u.test(address)
    ? undefined
    : { type: type.toLowerCase(), address };
}

/** Formats the parameters for a next hop, which must have announced DSN. */
export function formatMailRequest({ ret, envid }: MailRequest): string[] {
  return [
    ...(ret === undefined ? [] : [`RET=${ret}`]),
    ...(envid === undefined ? [] : [`ENVID=${encodeXtext(envid)}`]),
  ];
}

export function formatRecipientRequest({ notify, orcpt }: RecipientRequest): string[] {
  const original = orcpt === undefined ? undefined : parseOriginalRecipient(orcpt);
  return [
    ...(notify === undefined || notify.length === 0 ? [] : [`NOTIFY=${notify.join(",")}`]),
    ...(original === undefined
      ? []
      : [
          `ORCPT=${original.type};${original.type === "utf-8" ? encodeUtf8Address(original.address) : encodeXtext(original.address)}`,
        ]),
  ];
}

function valuesOf<Name extends string>(
  params: readonly string[],
  names: readonly Name[],
): Reading<Partial<Record<Name, string>>> {
  const value: Partial<Record<Name, string>> = {};
  for (const param of params) {
    const equals = param.indexOf("=");
    const name = (equals === -1 ? param : param.slice(0, equals)).toUpperCase() as Name;
    if (!names.includes(name)) continue;
    // 5.1 (b): a repeated parameter is a syntax error.
    if (value[name] !== undefined) return reject(`duplicate parameter ${name}`);
    if (equals === -1) return reject(`${name} requires a value`);
    value[name] = param.slice(equals + 1);
  }
  return { ok: true, value };
}

const reject = (why: string) => ({ ok: false as const, why });
