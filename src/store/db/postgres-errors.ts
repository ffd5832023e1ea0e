import { messageOf, UserError } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";

/** SQLSTATE classes. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const UNREACHABLE_CODE =
  /^(08...|25P03|28...|3D000|57P0[1-5]|E(CONN|HOST|NET|TIMEDOUT|NOTFOUND|PIPE|AI_).*|ENOENT|EACCES)$/;
/** Messages of pg errors that have no code. */
const UNREACHABLE_MESSAGE =
  /^(Connection terminated|timeout expired|Client (has encountered a connection error|was closed))/;
const SQLSTATE = {
  diskFull: "53100",
  readOnly: "25006",
  tooManyConnections: "53300",
  queryCanceled: "57014",
  lockNotAvailable: "55P03",
};

/** Thrown if the server did not respond in time. The connection is closed. */
export class ResponseTimeout extends Error {
  readonly code = "ETIMEDOUT";
  constructor(timeoutMs: number) {
    super(`no response within ${timeoutMs / 1000} s`);
  }
}

/** Thrown if the server is not the primary, with the code of the error that a write would cause. */
export class NotPrimary extends Error {
  readonly code = SQLSTATE.readOnly;
}

/** Node tries each address of a host name, and throws all failures as an AggregateError. */
const firstOf = (thrown: unknown): unknown => (thrown instanceof AggregateError ? thrown.errors[0] : thrown);

function codeOf(thrown: unknown): string {
  const first = firstOf(thrown);
  return first instanceof Error && "code" in first ? String(first.code) : "";
}

/** True if the connection is broken, or its server no longer accepts writes. */
export const isConnectionLost = (thrown: unknown): boolean =>
  isReadOnlyError(thrown) ||
  UNREACHABLE_CODE.test(codeOf(thrown)) ||
  (thrown instanceof Error && UNREACHABLE_MESSAGE.test(thrown.message));

/** True if the server rejected a write because it is a standby, and stored nothing. */
export const isReadOnlyError = (thrown: unknown): boolean => codeOf(thrown) === SQLSTATE.readOnly;

/** Converts an error of pg to the matching StoreError, if there is one. `address` is a label without a password. */
export function fromPostgres(thrown: unknown, address: string): unknown {
  if (!(thrown instanceof Error) || thrown instanceof UserError) return thrown;
  const reason = messageOf(firstOf(thrown));
  const cause = { cause: thrown };
  switch (codeOf(thrown)) {
    case SQLSTATE.diskFull:
      return storeErrors.diskFull({ what: `the database at ${address}` }, cause);
    case SQLSTATE.readOnly:
      return storeErrors.databaseReadOnly({ address, reason }, cause);
    case SQLSTATE.tooManyConnections:
      return storeErrors.tooManyConnections({ address, reason }, cause);
    case SQLSTATE.queryCanceled:
    case SQLSTATE.lockNotAvailable:
      return storeErrors.busy({ reason }, cause);
    default:
      return isConnectionLost(thrown) ? storeErrors.unreachable({ address, reason }, cause) : thrown;
  }
}
