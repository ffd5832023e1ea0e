import { hash } from "node:crypto";
import type { Ids } from "../../kernel/index.ts";

/**
 * 40 characters A-Z a-z 0-9 _ -, as clients of the hosted API expect; 240 bits of entropy. A leading "-" would look
 * like a command-line option.
 */
export const makeTokenValue = (ids: Ids): string => ids.token(30).replace(/^-/, "_");

/** 37 hex digits, the format of a global API key. */
export const makeGlobalKey = (ids: Ids): string => (ids.hex() + ids.hex()).slice(0, 37);

/** The stored and indexed form of a secret. Values are random and long, so a fast hash suffices. */
export const hashSecret = (secret: string): string => hash("sha256", secret, "base64url");
