import { z } from "@hono/zod-openapi";
import { UserError } from "../kernel/index.ts";
import { apiErrors } from "./errors.ts";
import type { OperationResponse } from "./operation.ts";

interface ErrorItem {
  code: number;
  message: string;
  documentation_url?: string;
  source?: { pointer: string };
  error_chain?: ErrorItem[];
}

export const success = ({ result, info, messages = [], extraFields }: OperationResponse) => ({
  success: true,
  errors: [],
  messages,
  result,
  ...(info !== undefined && { result_info: info }),
  ...extraFields,
});

/** `result` is null, except for the few operations whose published result on failure is another value. */
export const failureEnvelope = (errors: ErrorItem[], result: unknown = null) => ({
  success: false,
  errors,
  messages: [],
  result,
});

/** Code for errors whose own code is a word (`E_STORE_DISK_FULL`); their text is more useful than a number. */
const NAMED_ERROR_CODE = 10002;

/**
 * The only function that converts a domain error to an item of the envelope. Clients match on the text, so the fix is
 * put into `error_chain`.
 */
export const errorItem = (error: UserError): ErrorItem => {
  const code = typeof error.code === "number" ? error.code : NAMED_ERROR_CODE;
  const namedItems = typeof error.code === "string" ? [{ code, message: error.code }] : [];
  const fix = error.fix === undefined ? [] : [{ code, message: error.fix }];
  const chain = [...chainOf(error), ...namedItems, ...fix];
  return { code, message: error.message, ...(chain.length > 0 && { error_chain: chain }) };
};

/** Details added by the code that throws: `{ chain: [{ code, message }] }`. */
const chainOf = ({ details }: UserError): ErrorItem[] =>
  Array.isArray(details.chain) ? (details.chain as ErrorItem[]) : [];

/** One item per invalid value, with its location. */
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
