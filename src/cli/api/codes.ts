import { UserError } from "../../kernel/index.ts";

/** Whether the server refused with this code. */
export const isCode = (thrown: unknown, ...codes: number[]): thrown is UserError =>
  thrown instanceof UserError && thrown.domain === "server" && codes.includes(thrown.code as number);
