import { sql } from "kysely";
import { createEntriesTable, rowOf } from "../../src/mail/activity/entries-table.ts";
import { createSearch } from "../../src/mail/activity/search-table.ts";
import type { Entry } from "../../src/mail/activity/types.ts";
import { createClaimsTable } from "../../src/mail/outbound/queue/claims-table.ts";
import type { MessageRow, RecipientRow } from "../../src/mail/outbound/queue/migrations.ts";
import { createQueueTable } from "../../src/mail/outbound/queue/queue-table.ts";
import { createEmailRouting } from "../../src/mail/routing/create.ts";
import { createGroupCommitter } from "../../src/store/index.ts";
import { createZones } from "../../src/zones/index.ts";
import { forwardedEntry } from "../support/mail-entries.ts";
import { ACCOUNT, columnsOf, expectRows, idOf, multiply, random, shared, type Subject } from "./subject.ts";

const ZONE = "b".repeat(32);
const START = Date.UTC(2026, 0, 1);
const PAGE = 50;

const entryFor = (id: string, at: number): Entry =>
  forwardedEntry({ id, message: id, account: ACCOUNT, zone: ZONE, at });

export const mailLog: Subject = {
  name: "mail log",
  rows: { few: 1e3, many: 1e7 },
  async open({ db }, rows) {
    const entries = createEntriesTable(db);
    const search = createSearch(db);
    await entries.insert([rowOf(entryFor("f".repeat(32), START), 1)]);
    const { index, id } = columnsOf(db);
    // Fifty entries for each sender.
    const sender = sql`'sender' || (${index} / 50) || '@there.example'`;
    await multiply(db, "email_log", rows, {
      id,
      message: id,
      at: sql`${sql.lit(START)} + ${index} * 10`,
      changed_at: sql`${sql.lit(START)} + ${index} * 10`,
      mail_from: sender,
      from_key: sender,
      subject: sql`'Order ' || ${index}`,
      header_id: sql`'<' || ${index} || '@there.example>'`,
    });
    const list = async (query: Parameters<typeof search.page>[0], count = PAGE) =>
      expectRows((await search.page({ limit: PAGE, ...query })).items, count);
    const middle = `${(START + (rows / 2) * 10).toString(36)}-${"0".repeat(32)}`;
    const newId = () => `${shared.ids.hex()}`;
    const old = Array.from({ length: 20 }, () => START - 1000);
    return [
      { name: "list", run: () => list({ account: ACCOUNT }) },
      { name: "list deep", run: () => list({ account: ACCOUNT, after: middle }) },
      { name: "list of a zone", run: () => list({ zone: ZONE, kind: "routing" }) },
      { name: "get", run: async () => (await search.entry(idOf(random(rows))))!.id },
      {
        name: "search by sender",
        run: () => list({ account: ACCOUNT, from: `sender${random(rows / 50)}@there.example` }),
      },
      { name: "search by part of the subject", run: () => list({ account: ACCOUNT, search: "no such order" }, 0) },
      {
        name: "insert",
        run: async () =>
          expectRows(await entries.insert(Array.from({ length: 8 }, () => rowOf(entryFor(newId(), Date.now()), 1))), 0),
      },
      { name: "claim", run: async () => expectRows(await entries.unfinished(Date.now(), 100), 0) },
      {
        name: "sweep",
        prepare: () => entries.insert(old.map((at) => rowOf(entryFor(newId(), at), 1))),
        async run() {
          const deleted = await entries.deleteBefore(START, 500);
          if (deleted !== old.length) throw new Error(`deleted ${deleted} entries instead of ${old.length}`);
        },
      },
    ];
  },
};

const DESTINATIONS = 100;

const messageFor = (id: string, at: number): MessageRow => ({
  id,
  account_id: ACCOUNT,
  zone_id: ZONE,
  cause: "send",
  script: null,
  inbound_id: null,
  inbound_rcpt: null,
  header_id: `<${id}@here.example>`,
  mail_from: "me@here.example",
  vouched: 1,
  size: 1000,
  eight_bit: 0,
  utf8_header: 0,
  dsn: null,
  body_in: "table",
  created_at: at,
  finished_at: null,
  body_until: null,
});

const recipientFor = (id: string, domain: string, at: number): RecipientRow => ({
  id,
  message_id: id,
  account_id: ACCOUNT,
  rcpt: `you@${domain}`,
  mail_from: null,
  domain,
  destination: domain,
  siblings: 0,
  notify: null,
  orcpt: null,
  state: "queued",
  attempts: 0,
  next_try: at,
  token: null,
  lease_until: null,
  reply_code: null,
  reply_enhanced: null,
  reply_text: null,
  host: null,
  tell_at: null,
  created_at: at,
  expires_at: at + 1e12,
  finished_at: null,
});

export const outboundQueue: Subject = {
  name: "outbound queue",
  rows: { few: 1e3, many: 1e6 },
  async open({ db }, rows) {
    const commits = createGroupCommitter(db);
    const queue = createQueueTable(db, commits);
    const claims = createClaimsTable(db, commits);
    const newMessage = (domain: string) => {
      const id = shared.ids.hex();
      return {
        message: messageFor(id, Date.now()),
        recipients: [recipientFor(id, domain, Date.now())],
        body: Buffer.from("body"),
      };
    };
    await queue.insert(newMessage("template.example"));
    const { index, orderedId } = columnsOf(db);
    const at = sql`${sql.lit(START)} + ${index}`;
    const domain = sql`'d' || (${index} % ${sql.lit(DESTINATIONS)}) || '.example'`;
    const inbound = sql`'inbound' || ${index}`;
    await multiply(db, "outbound_messages", rows, { id: orderedId, created_at: at, inbound_id: inbound });
    await multiply(db, "outbound_recipients", rows, {
      id: orderedId,
      message_id: orderedId,
      created_at: at,
      next_try: at,
      domain,
      destination: domain,
    });
    const orderedIdOf = (n: number) => n.toString(16).padStart(32, "0");
    let claimed: RecipientRow[] = [];
    const token = "c".repeat(32);
    const sweeps = [
      () => claims.recover(START),
      () => claims.expire(START, Date.now()),
      () => claims.unreported(START, START),
      () => queue.dropBodies(START),
    ];
    return [
      { name: "list", run: async () => expectRows(await queue.list({ account: ACCOUNT, limit: PAGE }), PAGE) },
      {
        name: "list deep",
        run: async () =>
          expectRows(
            await queue.list({
              account: ACCOUNT,
              limit: PAGE,
              after: { createdAt: START + rows / 2, id: orderedIdOf(rows / 2) },
            }),
            PAGE,
          ),
      },
      {
        name: "list by state",
        run: async () => expectRows(await queue.list({ account: ACCOUNT, state: "queued", limit: PAGE }), PAGE),
      },
      {
        name: "search by domain",
        run: async () => expectRows(await queue.list({ account: ACCOUNT, domain: "d5.example", limit: 10 }), 10),
      },
      { name: "get", run: async () => (await queue.message(orderedIdOf(random(rows))))!.message.id },
      { name: "insert", run: () => queue.insert(newMessage("new.example")) },
      { name: "destinations", run: async () => expectRows(await claims.destinations("d", 50), 50) },
      {
        name: "claim",
        async prepare() {
          const ids = claimed.map(({ id }) => id);
          if (ids.length > 0) await claims.release(token, ids, START);
        },
        async run() {
          claimed = await claims.claim(`d${random(DESTINATIONS)}.example`, 5, {
            token,
            now: Date.now(),
            until: Date.now() + 60_000,
          });
          expectRows(claimed, 5);
        },
      },
      {
        name: "sweep",
        async run() {
          for (const sweep of sweeps) expectRows(await sweep(), 0);
          if ((await queue.forget(START)) !== 0) throw new Error("a message was deleted");
        },
      },
      { name: "sweep of finished messages", run: async () => expectRows((await queue.unnoted(Date.now())).ids, 0) },
      {
        name: "find by received message",
        run: async () => expectRows(await queue.ofInbound([`inbound${random(rows)}`]), 1),
      },
      { name: "count", run: () => queue.waiting(1_000_000) },
    ];
  },
};

export const routingRules: Subject = {
  name: "routing rules",
  rows: { few: 1e2, many: 1e4 },
  async open({ db, events, secrets, onClose }, rows) {
    const zones = createZones({ ...shared, db, events, nameServers: ["ns1.mail.example"] });
    onClose(() => zones.close());
    const { rules, dns, resolve, ...routing } = createEmailRouting({
      ...shared,
      db,
      events,
      zones,
      secrets,
      scripts: { get: async () => undefined, byId: async () => undefined },
      addresses: { link: (token) => token },
      hosts: { mx: [{ host: "mx.mail.example", priority: 1 }], spfInclude: "spf.mail.example", dkimSelector: "mail" },
      limits: { rules: 1_000_000 },
    });
    onClose(() => routing.close());
    const zone = await zones.create({ account: ACCOUNT, name: "here.example" });
    await dns.enable(zone);
    const ruleFor = (address: string) => ({
      matchers: [{ type: "literal" as const, field: "to" as const, value: address }],
      actions: [{ type: "drop" as const }],
    });
    await rules.create(zone, ruleFor("template@here.example"));
    const { index, id } = columnsOf(db);
    const address = sql`'box' || ${index} || '@here.example'`;
    await multiply(db, "email_routing_rules", rows, {
      id,
      target: address,
      matcher: sql`'{"type":"literal","field":"to","value":"' || ${address} || '"}'`,
      created_at: sql`${sql.lit(START)} + ${index}`,
    });
    let created = 0;
    const list = async (page: number) => expectRows((await rules.list(zone, {}, { page, perPage: PAGE })).items, PAGE);
    const ofAccount = async (page: number) =>
      expectRows((await rules.ofAccount(ACCOUNT, {}, { page, perPage: PAGE })).items, PAGE);
    return [
      { name: "list", run: () => list(1) },
      { name: "list last page", run: () => list(rows / PAGE) },
      { name: "list of the account", run: () => ofAccount(1) },
      { name: "list last page of the account", run: () => ofAccount(rows / PAGE) },
      { name: "get", run: async () => (await rules.get(zone, idOf(random(rows)))).id },
      {
        name: "match a recipient",
        prepare: () => resolve("box1@here.example"),
        async run() {
          const { kind } = await resolve(`box${random(rows)}@here.example`);
          if (kind !== "drop") throw new Error(`the recipient is resolved as ${kind}`);
        },
      },
      { name: "insert", run: () => rules.create(zone, ruleFor(`new${created++}@here.example`)) },
    ];
  },
};
