import { createHash } from "node:crypto";
import { Fault, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import { createQuota } from "../../kernel/quota.ts";
import { recipientKey, readRecipient } from "../recipient.ts";
import {
  addressById,
  addressByToken,
  addressByKey,
  countAddresses,
  deleteAddress,
  upsertAddress,
  listAddresses,
  oldestVerified,
  type AddressExecutor,
  type AddressQuery,
  type AddressTables,
  type StoredAddress,
} from "./addresses-table.ts";
import { addressErrors } from "./errors.ts";
import type { DestinationAddress, SendVerification } from "./types.ts";

export interface Addresses {
  list(account: string, query: AddressQuery, page: PageRequest): Promise<Page<DestinationAddress>>;
  /** Throws noAddress. */
  get(account: string, id: string): Promise<DestinationAddress>;
  /**
   * Creates an address and sends it a link. An existing address is returned unchanged, and gets another message if it
   * is unverified. `verified`: the address is verified immediately, and gets no message. Throws badAddress,
   * tooManyAddresses, tooManyMails.
   */
  create(account: string, email: string, options?: { verified?: boolean }): Promise<DestinationAddress>;
  /**
   * Sends another message and invalidates earlier links. A verified address gets none. Throws noAddress, tooSoon,
   * tooManyMails.
   */
  resend(account: string, id: string): Promise<DestinationAddress>;
  /**
   * Marks an address as verified without sending a message to it, or revokes its verification. Enables or disables the
   * rules that forward to it accordingly. Throws noAddress.
   */
  setVerified(account: string, id: string, verified: boolean): Promise<DestinationAddress>;
  /** Deletes an address. Rules that forward to it are kept, but disabled. Throws noAddress. */
  delete(account: string, id: string): Promise<DestinationAddress>;
  /** Resolves with true if mail of the account may be forwarded to the address. */
  isVerified(account: string, email: string): Promise<boolean>;
  /** "verified", "unverified", or undefined if the account has no such address. */
  stateOf(account: string, email: string): Promise<"verified" | "unverified" | undefined>;
  /** Resolves with the account's first verified address, the fallback for postmaster mail. */
  firstVerified(account: string): Promise<string | undefined>;
  /** Returns the address that a link verifies. Throws badLink. */
  pending(token: string): Promise<DestinationAddress>;
  /** Verifies the address when its owner opens the link. Idempotent. Throws badLink. */
  verify(token: string): Promise<DestinationAddress>;
  /** Registers the sender of verification messages. Addresses cannot be created before one is registered. */
  onVerification(listener: SendVerification): void;
}

/** Runs in the transaction that changes an address. Resolves with the zones whose rules changed. */
type UpdateRules = (
  tx: unknown,
  account: string,
  address: string,
  to: "verified" | "unverified" | "deleted",
  now: number,
) => Promise<string[]>;

export interface AddressesDeps {
  db: Db;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex" | "token">;
  /** Returns the URL that verifies the address with this token. */
  link(token: string): string;
  /** Enables or disables the rules that forward to an address. */
  updateRules: UpdateRules;
  /** Called after the commit, with the zones that `updateRules` changed. */
  onRulesChanged(zones: readonly string[]): void;
  /** Maximum number of addresses per account. Default 200. */
  limit?: number | undefined;
}

const MAX_EMAIL_LENGTH = 90;
const LINK_MS = 3 * 24 * 3_600_000;
/**
 * Maximum number of verification messages per account and hour. Without a limit, an account that adds and deletes
 * addresses could mail anyone.
 */
const MAILS_PER_HOUR = 300;
const RESEND_MS = 60_000;
const TOKEN = /^[\w-]{20,100}$/;

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

export function createAddresses({
  db,
  clock,
  ids,
  link,
  updateRules,
  onRulesChanged,
  limit = 200,
}: AddressesDeps): Addresses {
  let sendVerification: SendVerification | undefined;
  const quota = createQuota({ clock, limit: MAILS_PER_HOUR, perMs: 3_600_000 });
  const tables = db.tables<AddressTables>();

  async function requireAddress(from: AddressExecutor, account: string, id: string): Promise<StoredAddress> {
    const storedAddress = await addressById(from, account, id);
    if (storedAddress === undefined) throw addressErrors.noAddress();
    return storedAddress;
  }

  /** Stores the new token first, so that every received link works. Throws noAddress, tooManyMails. */
  async function sendLink({ account, id }: StoredAddress): Promise<StoredAddress> {
    const retryAfter = quota.consume(account);
    if (retryAfter > 0) throw addressErrors.tooManyMails({ limit: MAILS_PER_HOUR, retryAfter });
    // 192 bits, in a link that fits on one line of a message: people copy it.
    const token = ids.token(24);
    const change = (alterAddress: (address: StoredAddress) => Partial<StoredAddress> | undefined) =>
      db.transaction<AddressTables, StoredAddress>(async (tx) => {
        const before = await requireAddress(tx, account, id);
        const after = { ...before, ...alterAddress(before) };
        await upsertAddress(tx, after);
        return after;
      });
    const now = clock.now();
    const tokenHash = hashOf(token);
    const pendingAddress = await change(() => ({ tokenHash, tokenExpiresAt: now + LINK_MS, sentAt: now }));
    try {
      if (sendVerification === undefined) throw new Fault("no handler for verification mail is registered");
      await sendVerification(pendingAddress.email, link(token));
    } catch (err) {
      // Allows an immediate retry. The address may have been deleted meanwhile.
      await change((address) => (address.tokenHash === tokenHash ? { sentAt: null } : undefined)).catch(() => {});
      throw err;
    }
    return pendingAddress;
  }

  const resendWaitMsOf = ({ sentAt }: StoredAddress) =>
    sentAt === null ? 0 : Math.max(0, sentAt + RESEND_MS - clock.now());

  async function insert(account: string, email: string, address: string): Promise<StoredAddress> {
    const now = clock.now();
    const newAddress: StoredAddress = {
      id: ids.hex(),
      account,
      email,
      address,
      verifiedAt: null,
      tokenHash: null,
      tokenExpiresAt: null,
      sentAt: null,
      createdAt: now,
      modifiedAt: now,
    };
    try {
      return await db.transaction<AddressTables, StoredAddress>(async (tx) => {
        const existingAddress = await addressByKey(tx, account, address);
        if (existingAddress !== undefined) return existingAddress;
        if ((await countAddresses(tx, account)) >= limit) throw addressErrors.tooManyAddresses({ limit });
        await upsertAddress(tx, newAddress);
        return newAddress;
      });
    } catch (err) {
      const there = isUniqueViolation(err) ? await addressByKey(tables, account, address) : undefined;
      if (there === undefined) throw err;
      return there;
    }
  }

  /** Changes an address together with the rules that forward to it. */
  async function change(
    find: (tx: AddressExecutor) => Promise<StoredAddress>,
    to: "verified" | "unverified" | "deleted",
  ): Promise<DestinationAddress> {
    const { address, zones } = await db.transaction<AddressTables, { address: StoredAddress; zones: string[] }>(
      async (tx) => {
        const before = await find(tx);
        const now = clock.now();
        if (to === "deleted") await deleteAddress(tx, before.id);
        if (to === "deleted" || (to === "verified") !== (before.verifiedAt !== null)) {
          // Revoking the verification also invalidates the old link.
          const after: StoredAddress = {
            ...before,
            verifiedAt: to === "verified" ? now : null,
            modifiedAt: now,
            ...(to === "unverified" && { tokenHash: null, tokenExpiresAt: null }),
          };
          if (to !== "deleted") await upsertAddress(tx, after);
          return {
            address: to === "deleted" ? before : after,
            zones: await updateRules(tx, before.account, before.address, to, now),
          };
        }
        return { address: before, zones: [] };
      },
    );
    onRulesChanged(zones);
    return toPublic(address);
  }

  async function findByToken(from: AddressExecutor, token: string): Promise<StoredAddress> {
    const storedAddress = TOKEN.test(token) ? await addressByToken(from, hashOf(token)) : undefined;
    if (
      storedAddress === undefined ||
      storedAddress.tokenExpiresAt === null ||
      storedAddress.tokenExpiresAt <= clock.now()
    )
      throw addressErrors.badLink();
    return storedAddress;
  }

  return {
    async list(account, query, page) {
      const { items, total } = await listAddresses(tables, account, query, page);
      return { items: items.map(toPublic), total };
    },
    get: async (account, id) => toPublic(await requireAddress(tables, account, id)),
    async create(account, emailText, { verified = false } = {}) {
      const email = emailText.trim();
      const mailbox = readRecipient(email);
      if (
        email.length > MAX_EMAIL_LENGTH ||
        mailbox === undefined ||
        mailbox.domain === "" ||
        mailbox.domain.startsWith("[")
      )
        throw addressErrors.badAddress({ address: JSON.stringify(email.slice(0, 100)), limit: MAX_EMAIL_LENGTH });
      const stored = await insert(account, email, recipientKey(mailbox));
      if (verified) return change((tx) => requireAddress(tx, account, stored.id), "verified");
      return toPublic(stored.verifiedAt !== null || resendWaitMsOf(stored) > 0 ? stored : await sendLink(stored));
    },
    async resend(account, id) {
      const stored = await requireAddress(tables, account, id);
      if (stored.verifiedAt !== null) return toPublic(stored);
      const wait = resendWaitMsOf(stored);
      if (wait > 0) throw addressErrors.tooSoon({ seconds: RESEND_MS / 1000, retryAfter: Math.ceil(wait / 1000) });
      return toPublic(await sendLink(stored));
    },
    setVerified: (account, id, verified) =>
      change((tx) => requireAddress(tx, account, id), verified ? "verified" : "unverified"),
    delete: (account, id) => change((tx) => requireAddress(tx, account, id), "deleted"),
    isVerified: async (account, email) => (await stateOf(account, email)) === "verified",
    stateOf,
    firstVerified: async (account) => (await oldestVerified(tables, account))?.email,
    pending: async (token) => toPublic(await findByToken(tables, token)),
    verify: (token) => change((tx) => findByToken(tx, token), "verified"),
    onVerification(listener) {
      sendVerification = listener;
    },
  };

  async function stateOf(account: string, email: string) {
    const mailbox = readRecipient(email);
    const storedAddress = mailbox && (await addressByKey(tables, account, recipientKey(mailbox)));
    return storedAddress && (storedAddress.verifiedAt === null ? "unverified" : "verified");
  }
}

const toPublic = ({ id, account, email, verifiedAt, createdAt, modifiedAt }: StoredAddress): DestinationAddress => ({
  id,
  account,
  email,
  verifiedAt,
  createdAt,
  modifiedAt,
});
