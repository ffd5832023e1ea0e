import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, UserError } from "../../kernel/index.ts";
import { createLocalEvents, createSecrets, type Db } from "../../store/index.ts";
import type { Script } from "../../workers/index.ts";
import { createZones, zonesMigrations } from "../../zones/index.ts";
import { mailMigrations } from "../migrations.ts";
import { createEmailRouting, type EmailRoutingOptions } from "./create.ts";
import type { RuleRequest } from "./types.ts";

export const ACCOUNT = "a".repeat(32);
export const OTHER_ACCOUNT = "b".repeat(32);
export const HOSTS = {
  mx: [
    { host: "route1.mx.reelpost.example", priority: 1 },
    { host: "route2.mx.reelpost.example", priority: 2 },
    { host: "route3.mx.reelpost.example", priority: 3 },
  ],
  spfInclude: "_spf.mx.reelpost.example",
  dkimSelector: "reelpost",
};

/** Fake workers by name, to be added by tests. */
function createFakeScripts() {
  const all = new Map<string, Script>();
  let made = 0;
  return {
    add(name: string, account = ACCOUNT) {
      const script = { id: (++made).toString(16).padStart(32, "0"), account, name, live: {} } as Script;
      all.set(`${account}/${name}`, script);
      return script.id;
    },
    remove: (name: string, account = ACCOUNT) => void all.delete(`${account}/${name}`),
    get: async (account: string, name: string) => all.get(`${account}/${name}`),
    byId: async (account: string, id: string) =>
      [...all.values()].find((script) => script.account === account && script.id === id),
  };
}

export async function openRouting(t: TestContext, engine: TestEngine, options: Partial<EmailRoutingOptions> = {}) {
  const { db, another } = await engine.open(t, [...zonesMigrations, ...mailMigrations]);
  const clock = createManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  const events = createLocalEvents({ log: silentLog });
  const scripts = createFakeScripts();
  const secrets = createSecrets({ keys: [randomBytes(32)] });
  const mails: { address: string; link: string; token: string }[] = [];
  const mailer = { fails: false };
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: ["ns1.reelpost.example"] });
  const build = (from: Db, more: Partial<EmailRoutingOptions> = {}) => {
    const built = createEmailRouting({
      db: from,
      zones,
      scripts,
      secrets,
      events,
      clock,
      ids: randomIds,
      hosts: HOSTS,
      addresses: { link: (token) => `https://mail.example/email/verify/${token}` },
      ...options,
      ...more,
    });
    built.addresses.onVerification(async (address, link) => {
      if (mailer.fails) throw new Error("no way out");
      mails.push({ address, link, token: link.slice(link.lastIndexOf("/") + 1) });
    });
    return built;
  };
  const routing = build(db);
  t.after(async () => {
    routing.close();
    zones.close();
    await events.close();
  });

  return {
    db,
    another,
    build,
    clock,
    events,
    scripts,
    secrets,
    zones,
    routing,
    mails,
    mailer,
    newZone: (name = "example.com", account = ACCOUNT) => zones.create({ account, name }),
    /** Creates a verified destination address. */
    async verified(email: string, account = ACCOUNT) {
      const { id } = await routing.addresses.create(account, email);
      return routing.addresses.setVerified(account, id, true);
    },
  };
}

export const ruleFor = (
  to: string,
  action: RuleRequest["actions"][number] = { type: "drop" },
  more: Partial<RuleRequest> = {},
): RuleRequest => ({ matchers: [{ type: "literal", field: "to", value: to }], actions: [action], ...more });
export const catchAllTo = (action: RuleRequest["actions"][number], more: Partial<RuleRequest> = {}): RuleRequest => ({
  matchers: [{ type: "all" }],
  actions: [action],
  ...more,
});

/** Returns the kind and the message of the error that a promise rejects with. */
export async function refusal(promise: Promise<unknown>): Promise<[kind: string, message?: string]> {
  try {
    await promise;
  } catch (err) {
    if (!(err instanceof UserError)) throw err;
    return [err.kind, err.message];
  }
  return ["nothing was refused"];
}
