import { sql } from "kysely";
import { createJobsTable, type JobRow } from "../../src/store/jobs/jobs-table.ts";
import { createServedReads } from "../../src/zones/dns/served-table.ts";
import { createZones } from "../../src/zones/index.ts";
import { ACCOUNT, columnsOf, expectRows, idOf, multiply, random, shared, type Subject } from "./subject.ts";

const START = Date.UTC(2026, 0, 1);
const PAGE = 50;

export const jobs: Subject = {
  name: "jobs",
  rows: { few: 1e3, many: 1e6 },
  async open({ db }, rows) {
    const table = createJobsTable(db);
    const rowFor = (): JobRow => ({
      id: shared.ids.hex(),
      kind: "growth",
      key: null,
      payload: "{}",
      priority: 0,
      run_at: Date.now(),
      status: "waiting",
      attempt: 0,
      max_attempts: 1_000_000,
      token: null,
      lease_until: null,
      progress: null,
      error: null,
      finished_at: null,
    });
    await table.insert(rowFor());
    const { index, id } = columnsOf(db);
    await multiply(db, "jobs", rows, { id, run_at: sql`${sql.lit(START)} + ${index}`, key: sql`'key' || ${index}` });
    const token = "c".repeat(32);
    let claimed: JobRow[] = [];
    const claimant = () => ({ token, now: Date.now(), leaseUntil: Date.now() + 60_000 });
    const release = async () => {
      for (const { id: jobId, run_at, attempt } of claimed)
        await table.release({ id: jobId, token }, Date.now(), { run_at, attempt: attempt - 1, error: null });
    };
    const claim = (onePerKey: boolean) => async () => {
      claimed = await table.claimWaiting("growth", 5, claimant(), { onePerKey });
      expectRows(claimed, 5);
    };
    return [
      { name: "get", run: async () => (await table.find(idOf(random(rows))))!.id },
      { name: "insert", run: () => table.insert({ ...rowFor(), key: shared.ids.hex() }) },
      { name: "claim", prepare: release, run: claim(false) },
      { name: "claim one for each key", prepare: release, run: claim(true) },
      {
        name: "sweep",
        async run() {
          expectRows(await table.claimExpired("growth", 5, { ...claimant(), now: START }), 0);
          await table.failExhausted("growth", START);
          await table.forget("done", START);
        },
      },
    ];
  },
};

export const dnsRecords: Subject = {
  name: "DNS records",
  rows: { few: 1e3, many: 1e5 },
  async open({ db, events, onClose }, rows) {
    const zones = createZones({ ...shared, db, events, nameServers: ["ns1.dns.example"] });
    onClose(() => zones.close());
    const zone = await zones.create({ account: ACCOUNT, name: "here.example" });
    const records = zones.records;
    await records.create(zone, { type: "A", name: "template", content: "192.0.2.1" });
    const { index, id } = columnsOf(db);
    await multiply(db, "dns_records", rows, {
      id,
      name: sql`'host' || ${index} || '.here.example'`,
      reversed: sql`'example.here.host' || ${index}`,
      digest: id,
    });
    await sql`update dns_record_counts set records = records + ${sql.lit(rows)}`.execute(db.tables());
    const served = createServedReads(db);
    const nameOf = () => `host${random(rows)}.here.example`;
    const list = async (query: Parameters<typeof records.list>[1], page: number, count = PAGE) =>
      expectRows((await records.list(zone.id, query, { page, perPage: PAGE })).items, count);
    return [
      { name: "list", run: () => list({}, 1) },
      { name: "list last page", run: () => list({}, Math.floor(rows / PAGE)) },
      { name: "get", run: async () => (await records.get(zone.id, idOf(random(rows)))).id },
      { name: "search by name", run: () => list({ name: { exact: nameOf() } }, 1, 1) },
      { name: "search", run: () => list({ search: nameOf() }, 1, 1) },
      { name: "search for a word in all names", run: () => list({ search: "host" }, 1) },
      { name: "resolve", run: async () => expectRows(await served.records(zone.id, [nameOf()]), 1) },
      {
        name: "insert",
        run: () => records.create(zone, { type: "A", name: `n${shared.ids.hex()}`, content: "192.0.2.1" }),
      },
    ];
  },
};
