import { defineErrors, UserError } from "../kernel/index.ts";
import { actionErrorEntries } from "./action-errors.ts";
import { authenticationErrorEntries } from "./authentication-errors.ts";
import { deliveryErrorEntries } from "./delivery-errors.ts";
import { inboxErrorEntries } from "./inbox-errors.ts";
import { queueErrorEntries } from "./queue-errors.ts";
import { receptionErrorEntries } from "./reception-errors.ts";
import { sendErrorEntries } from "./send-errors.ts";
import type { SmtpReply } from "./smtp-reply.ts";

/**
 * All errors of the mail domain, one file for each concept. Existing Email Workers match on the lower-case texts
 * without a full stop and on the header texts, so these must not change.
 */
export const mailErrors = defineErrors("mail", {
  ...receptionErrorEntries,
  ...deliveryErrorEntries,
  ...authenticationErrorEntries,
  ...actionErrorEntries,
  ...sendErrorEntries,
  ...queueErrorEntries,
  ...inboxErrorEntries,
});

const DISK_FULL_CODES = new Set(["ENOSPC", "EDQUOT"]);
/** Descriptor limit of this process (EMFILE) or of the whole machine (ENFILE). */
const DESCRIPTOR_LIMIT_CODES = new Set(["EMFILE", "ENFILE"]);

/** True if a file system, SQLite (SQLITE_FULL) or PostgreSQL (53100) is out of space. */
function isDiskFull(thrown: unknown): boolean {
  const { code, errcode } = (thrown ?? {}) as { code?: unknown; errcode?: unknown };
  return (typeof code === "string" && (DISK_FULL_CODES.has(code) || code === "53100")) || errcode === 13;
}

/**
 * Returns the SMTP reply for an error thrown while handling a message. Errors of mail domains and workers keep their
 * text. System errors contain paths, hosts and limits of this server, so the peer gets a neutral text and the log gets
 * the cause.
 */
export function smtpErrorOf(thrown: unknown): UserError {
  if (thrown instanceof UserError && thrown.entry.smtp !== undefined)
    return isMachineError(thrown) ? toNeutralError(thrown) : thrown;
  if (DESCRIPTOR_LIMIT_CODES.has((thrown as NodeJS.ErrnoException | undefined)?.code ?? ""))
    return mailErrors.tooManyFiles({}, { cause: thrown });
  return isDiskFull(thrown) ? mailErrors.storageFull({}, { cause: thrown }) : mailErrors.fault({}, { cause: thrown });
}

const isMachineError = (thrown: UserError): boolean => thrown.domain === "store" || thrown.kind === "machineFailed";

function toNeutralError(thrown: UserError): UserError {
  const cause = { cause: thrown };
  if (thrown.entry.enhanced === "4.3.1") return mailErrors.storageFull({}, cause);
  if (thrown.kind === "tooManyFiles") return mailErrors.tooManyFiles({}, cause);
  if (thrown.kind === "tooLarge")
    return mailErrors.messageTooLarge({ limit: mebibytes(Number(thrown.details["maxBytes"])) }, cause);
  return mailErrors.fault({}, cause);
}

export function replyOf(refusal: UserError): SmtpReply {
  const { smtp = 451, enhanced = "4.3.0" } = refusal.entry;
  return { code: smtp, enhanced, text: refusal.message };
}

/** Formats a size: 26214400 -> "25MiB". */
export const mebibytes = (bytes: number): string => `${Math.round((bytes / 1024 / 1024) * 100) / 100}MiB`;
