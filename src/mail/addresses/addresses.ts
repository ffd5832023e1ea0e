import { createHash } from "node:crypto";
import { Fault, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import { createQuota } from "../quota.ts";
import { keyOf, readRecipient } from "../recipient.ts";
import {
  addressById,
  addressByToken,
  addressCalled,
  countAddresses,
  deleteAddress,
  keepAddress,
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
  /** Mails a link to a new address. One that is there already is answered as it is, and gets another mail when it is not verified. Throws badAddress, tooManyAddresses, tooManyMails. */
  create(account: string, email: string): Promise<DestinationAddress>;
  /** Another mail; the links of those before are void. Throws noAddress, tooSoon, tooManyMails. One that is verified gets none. */
  resend(account: string, id: string): Promise<DestinationAddress>;
  /** Verified without a mail, or not verified any more: its rules are switched on or off. Throws noAddress. */
  setVerified(account: string, id: string, verified: boolean): Promise<DestinationAddress>;
  /** The rules that forward to it stay, disabled. Throws noAddress. */
  delete(account: string, id: string): Promise<DestinationAddress>;
  /** Whether mail of the account may be forwarded to it. */
  isVerified(account: string, email: string): Promise<boolean>;
  /** "verified", "unverified", or undefined where the account has no such address. */
  stateOf(account: string, email: string): Promise<"verified" | "unverified" | undefined>;
  /** The account's first verified address: where mail for postmaster goes that nobody else takes. */
  firstVerified(account: string): Promise<string | undefined>;
  /** What the link with this token is for. Throws badLink. */
  pending(token: string): Promise<DestinationAddress>;
  /** Done by whoever has the mail with the link. Throws badLink. Once more is no mistake. */
  verify(token: string): Promise<DestinationAddress>;
  /** Sends the verification mail of a new address. An address cannot be created before there is a listener. */
  onVerification(listener: SendVerification): void;
}

/** In the transaction that changes an address. Resolves with the zones whose rules changed. */
type SwitchRules = (
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
  /** The URL that verifies the address of the token. */
  link(token: string): string;
  /** Enables or disables the rules that forward to an address. */
  switchRules: SwitchRules;
  /** Called after the commit, with the zones that `switchRules` changed. */
  rulesChanged(zones: readonly string[]): void;
  /** Addresses of one account at most. Default 200. */
  limit?: number | undefined;
}

const MAX_EMAIL = 90;
const LINK_MS = 3 * 24 * 3_600_000;
/** Verification mails of one account per hour. Without a limit, an account that adds and deletes addresses could mail anyone. */
const MAILS_PER_HOUR = 300;
const RESEND_MS = 60_000;
const TOKEN = /^[\w-]{20,100}$/;

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

export function createAddresses({
  db,
  clock,
  ids,
  link,
  switchRules,
  rulesChanged,
  limit = 200,
}: AddressesDeps): Addresses {
  let sendVerification: SendVerification | undefined;
  const quota = createQuota({ clock, limit: MAILS_PER_HOUR, perMs: 3_600_000 });
  const tables = db.tables<AddressTables>();

  async function need(from: AddressExecutor, account: string, id: string): Promise<StoredAddress> {
    const found = await addressById(from, account, id);
    if (found === undefined) throw addressErrors.noAddress();
    return found;
  }

  /** Keeps a fresh token first: a link that arrives works. Throws noAddress, tooManyMails. */
  async function sendLink({ account, id }: StoredAddress): Promise<StoredAddress> {
    const retryAfter = quota.take(account);
    if (retryAfter > 0) throw addressErrors.tooManyMails({ limit: MAILS_PER_HOUR, retryAfter });
    // 192 bits, and a link that fits a line of a message: people copy it.
    const token = ids.token(24);
    const change = (alter: (address: StoredAddress) => Partial<StoredAddress> | undefined) =>
      db.transaction<AddressTables, StoredAddress>(async (tx) => {
        const before = await need(tx, account, id);
        const after = { ...before, ...alter(before) };
        await keepAddress(tx, after);
        return after;
      });
    const now = clock.now();
    const tokenHash = hashOf(token);
    const waiting = await change(() => ({ tokenHash, tokenExpiresAt: now + LINK_MS, sentAt: now }));
    try {
      if (sendVerification === undefined) throw new Fault("no listener sends verification mail");
      await sendVerification(waiting.email, link(token));
    } catch (err) {
      // It may be tried again at once. The address may be gone by now.
      await change((address) => (address.tokenHash === tokenHash ? { sentAt: null } : undefined)).catch(() => {});
      throw err;
    }
    return waiting;
  }

  const waitMs = ({ sentAt }: StoredAddress) => (sentAt === null ? 0 : Math.max(0, sentAt + RESEND_MS - clock.now()));

  async function insert(account: string, email: string, address: string): Promise<StoredAddress> {
    const now = clock.now();
    const fresh: StoredAddress = {
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
        const there = await addressCalled(tx, account, address);
        if (there !== undefined) return there;
        if ((await countAddresses(tx, account)) >= limit) throw addressErrors.tooManyAddresses({ limit });
        await keepAddress(tx, fresh);
        return fresh;
      });
    } catch (err) {
      const there = isUniqueViolation(err) ? await addressCalled(tables, account, address) : undefined;
      if (there === undefined) throw err;
      return there;
    }
  }

  /** Changes an address and, with it, the rules that forward to it. */
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
          // Of one that is not verified any more the old link is void too.
          const after: StoredAddress = {
            ...before,
            verifiedAt: to === "verified" ? now : null,
            modifiedAt: now,
            ...(to === "unverified" && { tokenHash: null, tokenExpiresAt: null }),
          };
          if (to !== "deleted") await keepAddress(tx, after);
          return {
            address: to === "deleted" ? before : after,
            zones: await switchRules(tx, before.account, before.address, to, now),
          };
        }
        return { address: before, zones: [] };
      },
    );
    rulesChanged(zones);
    return bare(address);
  }

  async function byToken(from: AddressExecutor, token: string): Promise<StoredAddress> {
    const found = TOKEN.test(token) ? await addressByToken(from, hashOf(token)) : undefined;
    if (found === undefined || found.tokenExpiresAt === null || found.tokenExpiresAt <= clock.now())
      throw addressErrors.badLink();
    return found;
  }

  return {
    async list(account, query, page) {
      const { items, total } = await listAddresses(tables, account, query, page);
      return { items: items.map(bare), total };
    },
    get: async (account, id) => bare(await need(tables, account, id)),
    async create(account, given) {
      const email = given.trim();
      const read = readRecipient(email);
      if (email.length > MAX_EMAIL || read === undefined || read.domain === "" || read.domain.startsWith("["))
        throw addressErrors.badAddress({ address: JSON.stringify(email.slice(0, 100)), limit: MAX_EMAIL });
      const stored = await insert(account, email, keyOf(read));
      return bare(stored.verifiedAt !== null || waitMs(stored) > 0 ? stored : await sendLink(stored));
    },
    async resend(account, id) {
      const stored = await need(tables, account, id);
      if (stored.verifiedAt !== null) return bare(stored);
      const wait = waitMs(stored);
      if (wait > 0) throw addressErrors.tooSoon({ seconds: RESEND_MS / 1000, retryAfter: Math.ceil(wait / 1000) });
      return bare(await sendLink(stored));
    },
    setVerified: (account, id, verified) => change((tx) => need(tx, account, id), verified ? "verified" : "unverified"),
    delete: (account, id) => change((tx) => need(tx, account, id), "deleted"),
    isVerified: async (account, email) => (await stateOf(account, email)) === "verified",
    stateOf,
    firstVerified: async (account) => (await oldestVerified(tables, account))?.email,
    pending: async (token) => bare(await byToken(tables, token)),
    verify: (token) => change((tx) => byToken(tx, token), "verified"),
    onVerification(listener) {
      sendVerification = listener;
    },
  };

  async function stateOf(account: string, email: string) {
    const read = readRecipient(email);
    const found = read && (await addressCalled(tables, account, keyOf(read)));
    return found && (found.verifiedAt === null ? "unverified" : "verified");
  }
}

const bare = ({ id, account, email, verifiedAt, createdAt, modifiedAt }: StoredAddress): DestinationAddress => ({
  id,
  account,
  email,
  verifiedAt,
  createdAt,
  modifiedAt,
});
