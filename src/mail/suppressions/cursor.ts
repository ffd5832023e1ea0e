import { z } from "zod";
import { suppressionErrors } from "./errors.ts";
import type { Position, SuppressionFilter } from "./suppressions-table.ts";
import { SUPPRESSION_REASONS } from "./types.ts";

/** State for the next page. It contains no secrets, and a modified cursor gives no access to other data. */
interface Cursor {
  filter: SuppressionFilter;
  after: Position;
}

const text = z.string().max(320);
const schema = z.strictObject({
  filter: z.strictObject({
    address: text.optional(),
    prefix: text.optional(),
    reason: z.enum(SUPPRESSION_REASONS).optional(),
    scope: text.optional(),
    scoped: z.boolean().optional(),
  }),
  after: z.union([
    z.strictObject({ createdAt: z.number().int(), id: text }),
    z.strictObject({ address: text, scope: text }),
  ]),
});

export const writeCursor = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString("base64url");

/** Throws badCursor. */
export function readCursor(given: string): Cursor {
  try {
    const cursor = schema.parse(JSON.parse(Buffer.from(given, "base64url").toString()));
    // A position in one sort order is invalid in the other.
    if ("address" in cursor.after === (cursor.filter.prefix !== undefined)) return cursor as Cursor;
  } catch (cause) {
    throw suppressionErrors.badCursor({}, { cause });
  }
  throw suppressionErrors.badCursor();
}
