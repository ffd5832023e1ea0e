import { offsetOf, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import { hashSecret } from "../tokens/value.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import {
  deleteEndedSessions,
  deleteSessions,
  findSessionByHash,
  insertSession,
  sessionsOfUser,
} from "./sessions-table.ts";
import type { Session, SignInClient, SignInMethod } from "./types.ts";
import { isSessionSecret, makeSessionSecret } from "./value.ts";

export interface SessionLimits {
  /** A session that is not used for this time ends. */
  idleMs: number;
  /** A session ends after this time, whether it is used or not. */
  maxMs: number;
}

/** The sessions of the caller's user. */
export interface Sessions {
  /** Lists sessions that have not ended, newest first. */
  list(by: Caller, page: PageRequest): Promise<Page<Session>>;
  /** Throws noSession. */
  revoke(by: Caller, id: string): Promise<void>;
  /** Revokes all sessions except the caller's own. Returns their number. */
  revokeOthers(by: Caller): Promise<number>;
}

/** Used by the sign-in methods. */
export interface SessionStore extends Sessions {
  /** Only this function returns the secret. */
  open(user: string, method: SignInMethod, more: SignInClient & { twoFactor?: boolean }): Promise<OpenedSession>;
  /** Ends the session. Returns false if the secret is unknown. */
  close(secret: string): Promise<boolean>;
}

interface OpenedSession {
  secret: string;
  session: Session;
}

/** A new session replaces the one that was unused for the longest time. */
const MAX_SESSIONS_PER_USER = 100;
const MAX_USER_AGENT_LENGTH = 400;

interface SessionsDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  limits: SessionLimits;
  /** Called after a change is committed and before the response is sent. */
  onEnded(session: string): void;
}

export function createSessions({ db, clock, ids, limits, onEnded }: SessionsDeps): SessionStore {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);
  const isOpen = ({ expiresAt, lastUsedAt }: Session) => clock.now() < Math.min(expiresAt, lastUsedAt + limits.idleMs);

  async function end(select: (tx: AccountsExecutor) => Promise<string[]>): Promise<number> {
    const ended = await transaction(async (tx) => {
      const selectedIds = await select(tx);
      await deleteSessions(tx, selectedIds);
      return selectedIds;
    });
    for (const id of ended) onEnded(id);
    return ended.length;
  }

  return {
    async list(by, page) {
      const open = (await sessionsOfUser(tables, by.user.id)).filter(isOpen);
      const start = offsetOf(page);
      return { items: open.slice(start, start + page.perPage), total: open.length };
    },
    async revoke(by, id) {
      await end(async (tx) => {
        const session = (await sessionsOfUser(tx, by.user.id)).find((each) => each.id === id);
        if (session === undefined) throw accountErrors.noSession({ id });
        return [id];
      });
    },
    revokeOthers: (by) =>
      end(async (tx) => (await sessionsOfUser(tx, by.user.id)).map(({ id }) => id).filter((id) => id !== by.sessionId)),
    async open(user, method, { ip, userAgent, twoFactor = false }) {
      const now = clock.now();
      const secret = makeSessionSecret(ids);
      const session: Session = {
        id: ids.hex(),
        user,
        method,
        twoFactor,
        createdAt: now,
        lastUsedAt: now,
        expiresAt: now + limits.maxMs,
        ip: ip ?? null,
        userAgent: userAgent === undefined ? null : printable(userAgent),
      };
      const replaced = await transaction(async (tx) => {
        await deleteEndedSessions(tx, { now, lastUse: now - limits.idleMs });
        const old = (await sessionsOfUser(tx, user)).toSorted((a, b) => b.lastUsedAt - a.lastUsedAt);
        const excess = old.slice(MAX_SESSIONS_PER_USER - 1).map(({ id }) => id);
        await deleteSessions(tx, excess);
        await insertSession(tx, session, hashSecret(secret));
        return excess;
      });
      for (const id of replaced) onEnded(id);
      return { secret, session };
    },
    async close(secret) {
      if (!isSessionSecret(secret)) return false;
      const count = await end(async (tx) => {
        const session = await findSessionByHash(tx, hashSecret(secret));
        return session === undefined ? [] : [session.id];
      });
      return count > 0;
    },
  };
}

/** PostgreSQL rejects U+0000 in text. */
// oxlint-disable-next-line no-control-regex
const printable = (text: string) => text.replace(/[\u0000-\u001f\u007f]/g, " ").slice(0, MAX_USER_AGENT_LENGTH);
