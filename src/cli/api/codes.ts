import { UserError } from "../../kernel/index.ts";

/** True if the error is a server response with one of these codes. */
export const hasErrorCode = (thrown: unknown, ...codes: number[]): thrown is UserError =>
  thrown instanceof UserError && thrown.domain === "server" && codes.includes(thrown.code as number);
