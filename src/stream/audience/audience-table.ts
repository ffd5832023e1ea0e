import { sql, type RawBuilder } from "kysely";
import {
  createGroupCommitter,
  deleteOldSums,
  prepareQuery,
  readSums,
  roundedTime,
  startOf,
  type ColumnValue,
  type Db,
  type Migration,
  type RowFilter,
  type SumPeriod,
  type SumsRow,
} from "../../store/index.ts";
import { streamErrors } from "../errors.ts";

/** Columns by which metrics can be grouped and compared; `at/<milliseconds>` is the time rounded down. */
export type AudienceColumn =
  | "uid"
  | "input"
  | "creator"
  | "is_live"
  | "country"
  | "browser"
  | "os"
  | "device"
  | "referrer"
  | "start_at"
  | `at/${number}`;

/** Metrics of the viewers with the same properties in one hour. */
export interface AudienceCell {
  account: string;
  /** Epoch milliseconds. */
  at: number;
  uid: string;
  /** Live input of the broadcast or recording; "" if there is none. */
  input: string;
  creator: string;
  isLive: boolean;
  /** ISO 3166-1 alpha-2; "" if unknown. */
  country: string;
  browser: string;
  os: string;
  device: string;
  /** Host of the page; "" if unknown. */
  referrer: string;
  views: number;
  viewedMs: number;
}

/** Viewers of a subject in one minute. A subject is an account, or one of its videos, live inputs or creators. */
export interface ConcurrentCell {
  account: string;
  /** Epoch milliseconds of the minute. */
  minute: number;
  subject: string;
  viewers: number;
}

/** The subject of a peak. An account without further conditions has the subject "". */
export const subjectOf = {
  video: (uid: string) => `v:${uid}`,
  input: (uid: string) => `i:${uid}`,
  creator: (creator: string) => `c:${creator}`,
};

interface AudienceTables {
  /** Times in epoch milliseconds; `period` in milliseconds. */
  stream_audience: {
    account_id: string;
    period: number;
    start_at: number;
    uid: string;
    input: string;
    creator: string;
    is_live: number;
    country: string;
    browser: string;
    os: string;
    device: string;
    referrer: string;
    views: number;
    viewed_ms: number;
  };
  /** The most recent minutes, to which all processes add their viewers. */
  stream_concurrent: { account_id: string; minute: number; subject: string; viewers: number };
  stream_peaks: { account_id: string; period: number; start_at: number; subject: string; viewers: number };
}

export const audienceMigrations: Migration[] = [
  {
    name: "stream-audience-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_audience")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("period", "bigint", (column) => column.notNull())
        .addColumn("start_at", "bigint", (column) => column.notNull())
        .addColumn("uid", text, (column) => column.notNull())
        .addColumn("input", text, (column) => column.notNull())
        .addColumn("creator", text, (column) => column.notNull())
        .addColumn("is_live", "integer", (column) => column.notNull())
        .addColumn("country", text, (column) => column.notNull())
        .addColumn("browser", text, (column) => column.notNull())
        .addColumn("os", text, (column) => column.notNull())
        .addColumn("device", text, (column) => column.notNull())
        .addColumn("referrer", text, (column) => column.notNull())
        .addColumn("views", "bigint", (column) => column.notNull())
        .addColumn("viewed_ms", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_audience_key", [
          "account_id",
          "period",
          "start_at",
          "uid",
          "is_live",
          "country",
          "browser",
          "os",
          "device",
          "referrer",
        ])
        .execute();
      await db.schema
        .createIndex("stream_audience_uid")
        .on("stream_audience")
        .columns(["account_id", "uid", "period", "start_at"])
        .execute();
      await db.schema
        .createIndex("stream_audience_old")
        .on("stream_audience")
        .columns(["period", "start_at"])
        .execute();
      await db.schema
        .createTable("stream_concurrent")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("minute", "bigint", (column) => column.notNull())
        .addColumn("subject", text, (column) => column.notNull())
        .addColumn("viewers", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_concurrent_key", ["minute", "account_id", "subject"])
        .execute();
      await db.schema
        .createTable("stream_peaks")
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("period", "bigint", (column) => column.notNull())
        .addColumn("start_at", "bigint", (column) => column.notNull())
        .addColumn("subject", text, (column) => column.notNull())
        .addColumn("viewers", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_peaks_key", ["account_id", "subject", "period", "start_at"])
        .execute();
      await db.schema.createIndex("stream_peaks_old").on("stream_peaks").columns(["period", "start_at"]).execute();
    },
  },
];

const LIMITS = { rows: 1_000_000, groups: 20_000 };
/** The most recent minutes are kept for processes with a slow clock or a delayed write. */
const CONCURRENT_KEPT_MS = 15 * 60_000;

interface AudienceRead {
  account: string;
  period: SumPeriod;
  since: number;
  until: number;
  filter: RowFilter<AudienceColumn>;
  groupBy: readonly AudienceColumn[];
}

export function createAudienceTable(db: Db, periods: readonly SumPeriod[]) {
  const tables = db.tables<AudienceTables>();
  const commits = createGroupCommitter(db);
  const addViews = prepareQuery((arg) =>
    tables
      .insertInto("stream_audience")
      .values({
        account_id: arg("account"),
        period: arg("period"),
        start_at: arg("start"),
        uid: arg("uid"),
        input: arg("input"),
        creator: arg("creator"),
        is_live: arg("live"),
        country: arg("country"),
        browser: arg("browser"),
        os: arg("os"),
        device: arg("device"),
        referrer: arg("referrer"),
        views: arg("views"),
        viewed_ms: arg("viewedMs"),
      })
      .onConflict((conflict) =>
        conflict
          .columns([
            "account_id",
            "period",
            "start_at",
            "uid",
            "is_live",
            "country",
            "browser",
            "os",
            "device",
            "referrer",
          ])
          .doUpdateSet((eb) => ({
            creator: eb.ref("excluded.creator"),
            views: eb("stream_audience.views", "+", eb.ref("excluded.views")),
            viewed_ms: eb("stream_audience.viewed_ms", "+", eb.ref("excluded.viewed_ms")),
          })),
      ),
  );
  const addConcurrent = prepareQuery((arg) =>
    tables
      .insertInto("stream_concurrent")
      .values({ account_id: arg("account"), minute: arg("minute"), subject: arg("subject"), viewers: arg("viewers") })
      .onConflict((conflict) =>
        conflict
          .columns(["minute", "account_id", "subject"])
          .doUpdateSet((eb) => ({ viewers: eb("stream_concurrent.viewers", "+", eb.ref("excluded.viewers")) })),
      ),
  );
  /** One query per period length, because PostgreSQL cannot infer the type of a selected parameter. */
  const raisePeak = periods.map(({ ms }) =>
    prepareQuery((arg) =>
      tables
        .insertInto("stream_peaks")
        .columns(["account_id", "period", "start_at", "subject", "viewers"])
        .expression(
          tables
            .selectFrom("stream_concurrent")
            .select([
              "account_id",
              sql<number>`${sql.lit(ms)}`.as("period"),
              sql<number>`${roundedTime("minute", ms)}`.as("start_at"),
              "subject",
              "viewers",
            ])
            .where("minute", "=", arg<number>("minute"))
            .where("account_id", "=", arg<string>("account"))
            .where("subject", "=", arg<string>("subject")),
        )
        .onConflict((conflict) =>
          conflict.columns(["account_id", "subject", "period", "start_at"]).doUpdateSet({
            viewers: sql<number>`case when excluded.viewers > stream_peaks.viewers then excluded.viewers else stream_peaks.viewers end`,
          }),
        ),
    ),
  );

  return {
    add: (cells: readonly AudienceCell[]): Promise<void> =>
      commits.writeAtomically(
        cells.flatMap(({ at, isLive, ...cell }) =>
          periods.map((period) =>
            addViews({ ...cell, live: Number(isLive), period: period.ms, start: startOf(at, period) }),
          ),
        ),
      ),

    /** Adds viewers of a minute, and raises the peaks if the minute now has more viewers than any before. */
    addConcurrent: (cells: readonly ConcurrentCell[]): Promise<void> =>
      commits.writeAtomically(
        cells.flatMap((cell) => [addConcurrent({ ...cell }), ...raisePeak.map((raise) => raise({ ...cell }))]),
      ),

    read: ({ filter, ...query }: AudienceRead): Promise<SumsRow[]> =>
      readSums<AudienceColumn>(db, {
        ...query,
        filter,
        table: "stream_audience",
        expression,
        indexed: ["uid"],
        sums: ["views", "viewed_ms"],
        limits: LIMITS,
        tooMany: (limit) => streamErrors.tooManyDataPoints({ limit }),
      }),

    /** Resolves with the highest number of concurrent viewers in each period, in order. */
    async peaks(
      account: string,
      subject: string,
      { period, since, until, limit }: { period: SumPeriod; since: number; until: number; limit: number },
    ): Promise<{ at: number; viewers: number }[]> {
      const rows = await db.read(
        tables
          .selectFrom("stream_peaks")
          .select(["start_at", "viewers"])
          .where("account_id", "=", account)
          .where("subject", "=", subject)
          .where("period", "=", period.ms)
          .where("start_at", ">=", startOf(since, period))
          .where("start_at", "<", until)
          .orderBy("start_at")
          .limit(limit),
      );
      return rows.map(({ start_at: at, viewers }) => ({ at, viewers }));
    },

    async sweep(now: number): Promise<void> {
      await db.write(tables.deleteFrom("stream_concurrent").where("minute", "<", now - CONCURRENT_KEPT_MS));
      for (const table of ["stream_audience", "stream_peaks"]) await deleteOldSums(db, table, periods, now);
    },
  };
}

function expression(column: AudienceColumn): RawBuilder<ColumnValue> {
  const step = /^at\/(\d+)$/.exec(column)?.[1];
  return step === undefined ? sql`${sql.ref(column)}` : roundedTime("start_at", Number(step));
}
