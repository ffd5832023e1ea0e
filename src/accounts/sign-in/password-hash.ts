import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from "node:crypto";
import { createKeyedQueue } from "../../kernel/keyed-queue.ts";
import { accountErrors } from "../errors.ts";

/** Parameters of scrypt (RFC 7914): N is two to the power of `ln`. */
interface PasswordCost {
  ln: number;
  r: number;
  p: number;
}

/**
 * One of the equivalent choices of the OWASP Password Storage Cheat Sheet: 32 MiB of memory per password that is
 * checked.
 */
const COST: PasswordCost = { ln: 15, r: 8, p: 3 };
const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** The thread pool of Node has four threads, and file operations need them, too. */
const MAX_CONCURRENT = 2;
const MAX_WAITING = 32;

export interface PasswordHasher {
  /** `scrypt$ln=15,r=8,p=3$<salt>$<key>`: the parameters are stored with each hash, so that they can be raised. */
  hash(password: string): Promise<string>;
  /**
   * Without a hash, takes as long as with one and resolves with false: the duration does not reveal who has a password.
   * Throws signInBusy.
   */
  verify(password: string, hash: string | undefined): Promise<boolean>;
  /** True if the hash was created with other parameters. */
  isOutdated(hash: string): boolean;
}

export function createPasswordHasher(cost: PasswordCost = COST): PasswordHasher {
  const queue = createKeyedQueue({
    concurrency: MAX_CONCURRENT,
    maxWaiting: MAX_WAITING,
    full: () => accountErrors.signInBusy(),
  });
  const derive = (password: string, salt: Buffer, parameters: PasswordCost) =>
    queue("scrypt", () => runScrypt(password, salt, parameters));
  const prefix = `scrypt$${format(cost)}$`;
  const unknownSalt = randomBytes(SALT_BYTES);

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const key = await derive(password, salt, cost);
      return `${prefix}${salt.toString("base64url")}$${key.toString("base64url")}`;
    },
    async verify(password, hash) {
      const stored = hash === undefined ? undefined : parse(hash);
      const key = await derive(password, stored?.salt ?? unknownSalt, stored?.cost ?? cost);
      return timingSafeEqual(key, stored?.key ?? randomBytes(KEY_BYTES)) && stored !== undefined;
    },
    isOutdated: (hash) => !hash.startsWith(prefix),
  };
}

function runScrypt(password: string, salt: Buffer, { ln, r, p }: PasswordCost): Promise<Buffer> {
  const N = 2 ** ln;
  // Node's default limit of 32 MiB excludes the working memory of these parameters.
  const options: ScryptOptions = { N, r, p, maxmem: 2 * 128 * N * r };
  return new Promise((resolve, reject) => {
    // NIST SP 800-63B 3.1.1.2: normalized, because keyboards compose characters differently.
    scrypt(password.normalize("NFKC"), salt, KEY_BYTES, options, (err, key) => (err ? reject(err) : resolve(key)));
  });
}

const format = ({ ln, r, p }: PasswordCost) => `ln=${ln},r=${r},p=${p}`;

function parse(hash: string): { cost: PasswordCost; salt: Buffer; key: Buffer } {
  const [, ln, r, p, salt, key] = /^scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/.exec(hash)!;
  return {
    cost: { ln: Number(ln), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt!, "base64url"),
    key: Buffer.from(key!, "base64url"),
  };
}
