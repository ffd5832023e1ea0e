import { hash } from "node:crypto";
import type { Ids } from "../../kernel/index.ts";
import type { Secrets } from "../../store/index.ts";

/**
 * 40 characters A-Z a-z 0-9 _ -, as clients of the hosted API expect; 240 bits of entropy. A leading "-" would look
 * like a command-line option.
 */
export const makeTokenValue = (ids: Ids): string => ids.token(30).replace(/^-/, "_");

/** 37 hex digits, the format of a global API key. */
export const makeGlobalKey = (ids: Ids): string => (ids.hex() + ids.hex()).slice(0, 37);

/**
 * Returns the secret access key of a token for the S3 API: 64 hex digits, which clients derive from the token's value.
 */
const s3SecretOf = (value: string): string => hash("sha256", value, "hex");

/**
 * Returns the stored and indexed form of a secret: the hash of its S3 secret, so that neither can be computed from the
 * database. Values are random and long, so a fast hash suffices.
 */
export const hashSecret = (secret: string): string => hashOfS3Secret(s3SecretOf(secret));

export const hashOfS3Secret = (s3Secret: string): string => hash("sha256", s3Secret, "base64url");

/** The columns derived from a token's value. */
export interface TokenValueColumns {
  hash: string;
  /** Encrypted. Null if the S3 API does not accept the token. */
  s3Secret: string | null;
}

export type SealValue = (tokenId: string, value: string) => TokenValueColumns;

/** Without `secrets`, tokens have no S3 secrets. */
export const createValueSealer =
  (secrets: Pick<Secrets, "seal"> | undefined): SealValue =>
  (tokenId, value) => ({
    hash: hashSecret(value),
    s3Secret: secrets?.seal(s3SecretOf(value), s3SecretContext(tokenId)) ?? null,
  });

export const s3SecretContext = (tokenId: string): string => `token/${tokenId}/s3`;
