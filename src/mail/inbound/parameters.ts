import { isUtf8 } from "node:buffer";
import type { DsnRequest, SmtpReply } from "../messages/index.ts";
import {
  readMailRequest,
  readRecipientRequest,
  type MailRequest,
  type RecipientRequest,
} from "../../protocol/dsn/index.ts";

/** Parameters of MAIL and RCPT. */

/** DSN parameters of a session; `to` is keyed by address in lower case. */
export interface Asked {
  mail: MailRequest;
  to: Map<string, RecipientRequest>;
}

export const noWishes = (): Asked => ({ mail: {}, to: new Map() });

/** The announced extensions (RFC 5321 4.1.1.11: parameters of others are rejected with 555). */
export interface Extensions {
  dsn: boolean;
  utf8: boolean;
  auth: boolean;
}

export type Parameters<T> = { ok: true; asked: T } | { ok: false; reply: SmtpReply };

export function readMailParameters(command: Buffer, { dsn, utf8, auth }: Extensions): Parameters<MailRequest> {
  const params = parametersOf(command);
  const known = [
    "SIZE",
    "BODY",
    ...(utf8 ? ["SMTPUTF8"] : []),
    ...(dsn ? ["RET", "ENVID"] : []),
    ...(auth ? ["AUTH"] : []),
  ];
  return (
    unacceptable(
      command,
      params,
      known,
      params.some((param) => /^SMTPUTF8$/i.test(param)),
    ) ?? reading(readMailRequest(params))
  );
}

/** `utf8`: whether MAIL requested SMTPUTF8. */
export function readRecipientParameters(
  command: Buffer,
  { dsn }: Extensions,
  utf8: boolean,
): Parameters<RecipientRequest> {
  const params = parametersOf(command);
  return unacceptable(command, params, dsn ? ["NOTIFY", "ORCPT"] : [], utf8) ?? reading(readRecipientRequest(params));
}

function parametersOf(command: Buffer): string[] {
  const text = command.toString();
  return text
    .slice(text.indexOf(":") + 1)
    .trim()
    .split(/\s+/)
    .slice(1);
}

function unacceptable(
  command: Buffer,
  params: string[],
  known: string[],
  utf8: boolean,
): { ok: false; reply: SmtpReply } | undefined {
  if (!isUtf8(command)) return refused(501, "5.5.2", "Error: the command is not UTF-8");
  const unknown = params.map((param) => param.split("=", 1)[0]!).find((name) => !known.includes(name.toUpperCase()));
  if (unknown !== undefined)
    return refused(
      555,
      "5.5.4",
      `Error: parameter ${unknown.replace(/[^A-Za-z0-9-]/g, "?").slice(0, 40)} is not supported`,
    );
  // RFC 6531 3.5.
  if (!utf8 && command.some((octet) => octet > 127))
    return refused(553, "5.6.7", "Error: an address outside ASCII needs SMTPUTF8");
  return undefined;
}

const reading = <T>(read: { ok: true; value: T } | { ok: false; why: string }): Parameters<T> =>
  read.ok ? { ok: true, asked: read.value } : refused(501, "5.5.4", `Error: ${read.why}`);

const refused = (code: number, enhanced: string, text: string) => ({
  ok: false as const,
  reply: { code, enhanced, text },
});

/** DSN parameters for the envelope; undefined without any. `address` returns the form used in the envelope. */
export function dsnRequest(
  { mail, to }: Asked,
  recipients: readonly string[],
  address: (text: string) => string,
): DsnRequest | undefined {
  const each = recipients.flatMap((rcpt) => {
    const asked = to.get(rcpt.toLowerCase());
    return asked === undefined || Object.keys(asked).length === 0 ? [] : [[address(rcpt), asked] as const];
  });
  if (each.length === 0 && Object.keys(mail).length === 0) return undefined;
  return { ...mail, ...(each.length === 0 ? {} : { to: Object.fromEntries(each) }) };
}
