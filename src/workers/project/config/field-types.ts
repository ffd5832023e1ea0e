import { z } from "zod";

export const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `namespace_id` of a rate limit. */
export const RATE_LIMIT_NAMESPACE = /^[1-9]\d{0,18}$/;

export const bindingName = z.string().regex(IDENTIFIER).meta({
  description: "a JavaScript name",
  example: "MY_BINDING",
  fix: "use letters, digits and _, not starting with a digit: the code reads it as env.NAME",
});

export const address = z
  .string()
  .max(320)
  .regex(/^[^\s@<>,;"]+@[^\s@<>,;"]+$/)
  .meta({ description: "an email address", example: "someone@example.com" });

export const workerNameField = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,63}$/)
  .meta({ description: "a worker name", example: "my-worker", fix: 'use letters, digits, "-" and "_", at most 63' });

export const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ description: "a date", fix: 'write it as "YYYY-MM-DD"' });

export const remote = z.boolean().optional();

/** Valid in wrangler, but without effect on a self-hosted server, so accepted and ignored. */
export const ignoredField = z.unknown().optional();

export const arrayField = <T extends z.ZodType>(item: T, example: unknown) =>
  z
    .array(item)
    .optional()
    .meta({ example: [example] });
