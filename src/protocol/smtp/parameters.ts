import { isUtf8 } from "node:buffer";
import { readMailRequest, readRecipientRequest, type MailRequest, type RecipientRequest } from "../dsn/index.ts";
import type { Reply } from "./reply.ts";

/** The parameters of MAIL and RCPT. */

/**
 * BINARYMIME (RFC 3030) is not announced: a message without line endings can only be relayed with BDAT, and the next
 * hop of a forward may not support CHUNKING. A downgrade would have to encode all parts again, which would break their
 * DKIM signatures.
 */
export type BodyType = "7BIT" | "8BITMIME";

interface MailParameters {
  /** Message size in octets (RFC 1870); undefined without the parameter. */
  size?: number;
  body: BodyType;
  smtputf8: boolean;
  /** Delivery notification parameters (RFC 3461). */
  dsn: MailRequest;
}

/** The announced extensions: parameters of other extensions are rejected with 555 (RFC 5321 4.1.1.11). */
interface ParameterRules {
  dsn: boolean;
  smtputf8: boolean;
  auth: boolean;
  /** Maximum message size in bytes. */
  maxSize: number;
}

type Parameters<T> = { ok: true; value: T } | { ok: false; reply: Reply };

export function readMailParameters(
  command: Buffer,
  params: readonly string[],
  rules: ParameterRules,
): Parameters<MailParameters> {
  const knownNames = new Set(["SIZE", "BODY"]);
  if (rules.smtputf8) knownNames.add("SMTPUTF8");
  if (rules.dsn) knownNames.add("RET").add("ENVID");
  if (rules.auth) knownNames.add("AUTH");
  const smtputf8 = params.some((param) => /^SMTPUTF8$/i.test(param));
  const refusal = refusalOf(command, params, knownNames, smtputf8);
  if (refusal !== undefined) return refusal;
  const values = valuesOf(params);
  if (values === undefined) return reject(501, "5.5.4", "Error: duplicate parameter");
  const body = (values.get("BODY") ?? "7BIT").toUpperCase();
  if (body !== "7BIT" && body !== "8BITMIME")
    return reject(501, "5.5.4", "Invalid BODY parameter value. Must be 7BIT or 8BITMIME");
  if (values.has("SMTPUTF8") && !smtputf8)
    return reject(501, "5.5.4", "Invalid SMTPUTF8 parameter. This flag does not accept a value");
  const declaredSize = values.get("SIZE");
  if (declaredSize !== undefined && !/^\d{1,20}$/.test(declaredSize))
    return reject(501, "5.5.4", "Error: Bad message size syntax");
  const size = declaredSize === undefined ? undefined : Number(declaredSize);
  if (size !== undefined && size > rules.maxSize)
    return reject(552, "5.3.4", `Error: message exceeds fixed maximum message size ${rules.maxSize}`);
  const dsn = readMailRequest(params);
  if (!dsn.ok) return reject(501, "5.5.4", `Error: ${dsn.why}`);
  return { ok: true, value: { body, smtputf8, dsn: dsn.value, ...(size !== undefined && { size }) } };
}

/** Reads the parameters of RCPT. `smtputf8`: MAIL had the parameter SMTPUTF8. */
export function readRecipientParameters(
  command: Buffer,
  params: readonly string[],
  { dsn }: Pick<ParameterRules, "dsn">,
  smtputf8: boolean,
): Parameters<RecipientRequest> {
  const refusal = refusalOf(command, params, new Set(dsn ? ["NOTIFY", "ORCPT"] : []), smtputf8);
  if (refusal !== undefined) return refusal;
  const request = readRecipientRequest(params);
  return request.ok ? { ok: true, value: request.value } : reject(501, "5.5.4", `Error: ${request.why}`);
}

function refusalOf(
  command: Buffer,
  params: readonly string[],
  knownNames: ReadonlySet<string>,
  smtputf8: boolean,
): { ok: false; reply: Reply } | undefined {
  if (!isUtf8(command)) return reject(501, "5.5.2", "Error: the command is not UTF-8");
  const unknownName = params
    .map((param) => param.split("=", 1)[0]!)
    .find((name) => !knownNames.has(name.toUpperCase()));
  if (unknownName !== undefined)
    return reject(
      555,
      "5.5.4",
      `Error: parameter ${unknownName.replace(/[^A-Za-z0-9-]/g, "?").slice(0, 40)} is not supported`,
    );
  // RFC 6531 3.5: non-ASCII addresses require SMTPUTF8.
  if (!smtputf8 && command.some((octet) => octet > 127))
    return reject(553, "5.6.7", "Error: a non-ASCII address requires SMTPUTF8");
  return undefined;
}

/** Returns the values by name in upper case; undefined if a name is repeated. */
function valuesOf(params: readonly string[]): Map<string, string> | undefined {
  const values = new Map<string, string>();
  for (const param of params) {
    const equals = param.indexOf("=");
    const name = (equals === -1 ? param : param.slice(0, equals)).toUpperCase();
    if (values.has(name)) return undefined;
    values.set(name, equals === -1 ? "" : param.slice(equals + 1));
  }
  return values;
}

const reject = (code: number, enhanced: string, text: string) => ({
  ok: false as const,
  reply: { code, enhanced, text },
});
