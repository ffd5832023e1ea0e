import { z } from "@hono/zod-openapi";
import { UserError } from "../kernel/index.ts";
import { apiErrors } from "./errors.ts";
import type { Answer } from "./operation.ts";

export interface ErrorItem {
  code: number;
  message: string;
  documentation_url?: string;
  source?: { pointer: string };
  error_chain?: ErrorItem[];
}

export const success = ({ result, info, messages = [], beside }: Answer) => ({
  success: true,
  errors: [],
  messages,
  result,
  ...(info !== undefined && { result_info: info }),
  ...beside,
});

/** `result` is null but for the few operations that are published with another. */
export const failure = (errors: ErrorItem[], result: unknown = null) => ({
  success: false,
  errors,
  messages: [],
  result,
});

/** Codes of errors that name themselves in words (`E_STORE_DISK_FULL`): their text says more than any number of ours would. */
const WORDED = 10002;

/** The one place where a domain's error becomes an item of the envelope. The fix follows the text only where no client matches on it: in `error_chain`. */
export const errorItem = (error: UserError): ErrorItem => {
  const code = typeof error.code === "number" ? error.code : WORDED;
  const named = typeof error.code === "string" ? [{ code, message: error.code }] : [];
  const fix = error.fix === undefined ? [] : [{ code, message: error.fix }];
  const chain = [...chainOf(error), ...named, ...fix];
  return { code, message: error.message, ...(chain.length > 0 && { error_chain: chain }) };
};

/** Details that a throwing place adds to its error: `{ chain: [{ code, message }] }`. */
const chainOf = ({ details }: UserError): ErrorItem[] =>
  Array.isArray(details.chain) ? (details.chain as ErrorItem[]) : [];

/** One item for each thing that is wrong, each with the place where it stands. */
export function invalidInput(error: z.ZodError, where: "body" | "query"): UserError {
  const chain = error.issues.slice(0, 20).map(({ path, message }): ErrorItem => ({
    code: 10001,
    message: path.length === 0 ? message : `${path.join(".")}: ${message}`,
    source: { pointer: `/${where === "query" ? "query/" : ""}${path.join("/")}` },
  }));
  return apiErrors.badRequest({
    reason: `Invalid ${where === "body" ? "request body" : "query parameters"}: ${chain.map(({ message }) => message).join("; ")}`,
    chain,
  });
}
