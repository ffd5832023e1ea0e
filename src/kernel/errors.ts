/**
 * One error table per domain. The API, the SMTP server and the CLI each format the entries; no other code formats
 * errors.
 *
 *     const mailErrors = defineErrors("mail", {
 *       recipientNotAllowed: { code: "E_RECIPIENT_NOT_ALLOWED", http: 403, smtp: 550, enhanced: "5.7.1",
 *         message: "email to {address} not allowed", fix: "Add it to allowed_destination_addresses of the binding." },
 *     });
 *     throw mailErrors.recipientNotAllowed({ address });
 */
interface ErrorEntry {
  /** The code that clients match on: a v4 number (7003) or a runtime name ("E_FIELD_MISSING"). */
  code: number | string;
  /** HTTP status, 400-599. */
  http: number;
  /** SMTP reply code and RFC 3463 enhanced code, if the error can reach an SMTP client. */
  smtp?: number;
  enhanced?: string;
  /** The message, with `{name}` placeholders. Tests pin the texts, because clients match on some of them. */
  message: string;
  /** Instruction for the reader, with the same placeholders. */
  fix?: string;
  /** A permanent conflict (409): clients that retry automatically should not. */
  permanent?: true;
}

/**
 * A problem with the user's input or configuration: shown to the user with its fix, never logged as an internal error.
 */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly domain: string;
  readonly kind: string;
  readonly entry: ErrorEntry;
  readonly fix: string | undefined;
  readonly details: Record<string, unknown>;

  constructor(
    domain: string,
    kind: string,
    entry: ErrorEntry,
    details: Record<string, unknown>,
    options?: ErrorOptions,
  ) {
    super(fill(entry.message, details), options);
    this.domain = domain;
    this.kind = kind;
    this.entry = entry;
    this.details = details;
    this.fix = entry.fix === undefined ? undefined : fill(entry.fix, details);
  }

  get code(): number | string {
    return this.entry.code;
  }
}

/** A violated invariant or a failure of the machine: logged with its stack; clients see only a generic message. */
export class Fault extends Error {
  override readonly name = "Fault";
}

type Make<Table> = {
  readonly [Kind in keyof Table]: (details?: Record<string, unknown>, options?: ErrorOptions) => UserError;
};

export function defineErrors<const Table extends Record<string, ErrorEntry>>(
  domain: string,
  table: Table,
): Make<Table> & { readonly table: Table } {
  const factories: Record<string, unknown> = { table };
  for (const [kind, entry] of Object.entries(table)) {
    factories[kind] = (details: Record<string, unknown> = {}, options?: ErrorOptions) =>
      new UserError(domain, kind, entry, details, options);
  }
  return factories as Make<Table> & { readonly table: Table };
}

const fill = (text: string, details: Record<string, unknown>) =>
  text.replace(/\{(\w+)\}/g, (place, name: string) => (name in details ? String(details[name]) : place));

/** Returns the message of any thrown value, which may not be an Error. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
