import type { IncomingMessage } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import {
  choosePeriod,
  createMetricBuffer,
  localSweeps,
  type Db,
  type RowFilter,
  type SumPeriod,
  type SumsRow,
  type Sweeps,
} from "../../store/index.ts";
import { type DeliveryRoute, viewerName, type DeliveryContext } from "../delivery/index.ts";
import type { Video } from "../videos/index.ts";
import {
  createAudienceTable,
  type AudienceCell,
  type AudienceColumn,
  type ConcurrentCell,
  subjectOf,
} from "./audience-table.ts";
import { deviceOf } from "./device.ts";
import { audiencePeriods } from "./periods.ts";
import { createViewerSessions, type ViewerSession } from "./sessions.ts";

interface AudienceQuery {
  account: string;
  /** Epoch milliseconds: start inclusive, end exclusive. Extended to whole hours or days. */
  since: number;
  until: number;
  /** Granularity of the requested times in milliseconds; absent if none are requested. */
  step?: number | undefined;
  filter: RowFilter<AudienceColumn>;
  groupBy: readonly AudienceColumn[];
}

/** Restricts the metrics to one video, live input or creator. */
interface AudienceSubject {
  uid?: string | undefined;
  input?: string | undefined;
  creator?: string | undefined;
}

/**
 * Metrics of the viewers of videos and broadcasts, by hour and day.
 *
 * A view begins when a viewer gets a segment of a video after 30 minutes without one. The minutes viewed are the
 * durations of the segments sent, whether or not the player showed them. A viewer is identified by an IP address plus a
 * session id of the player or a user agent; both are kept only in memory.
 */
export interface Audience {
  /** Retention of the metrics, in days. */
  readonly days: number;
  /** Counts a segment of this many seconds that has been sent completely. */
  onSegment(viewing: Pick<DeliveryContext, "video" | "viewer" | "request">, seconds: number): void;
  /** Counts the time of a connection that receives the broadcast without segments, such as WebRTC. */
  onConnected(connection: { video: Video; session: string; ip: string; player: string }, seconds: number): void;
  /** Wraps the route of a page with the player, to find out which page embeds it. */
  watchPage(route: DeliveryRoute): DeliveryRoute;
  /** Sums `views` and `viewed_ms` by group. Throws tooManyDataPoints. */
  sums(query: AudienceQuery): Promise<SumsRow[]>;
  /**
   * Returns, for each hour or day with viewers, the highest number of viewers that got a segment in the same minute.
   * Accepts one subject at most; without one, the result is for the whole account.
   */
  peaks(
    query: Pick<AudienceQuery, "account" | "since" | "until" | "step"> & { subject: AudienceSubject; limit: number },
  ): Promise<{ at: number; viewers: number }[]>;
  /** Writes the counts; this also happens automatically every few seconds. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface AudienceDeps {
  db: Db;
  /** Default: this process deletes old metrics. */
  sweeps?: Pick<Sweeps, "run">;
  clock: Pick<Clock, "now">;
  /** ISO 3166-1 alpha-2 country code of an IP address. */
  countryOf(ip: string): string | undefined;
  log: Log;
  /** Retention of the metrics, in days. Default 90. */
  days?: number;
  limits?: Partial<AudienceLimits>;
}

interface AudienceLimits {
  /** Maximum number of combinations of properties per account and hour; further ones are counted as "(other)". */
  combinations: number;
  /** Maximum number of hosts of embedding pages per account and hour; further ones are counted as "(other)". */
  referrers: number;
}

const LIMITS: AudienceLimits = { combinations: 10_000, referrers: 200 };
const OTHER = "(other)";
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const MAX_PAGES = 20_000;
const MAX_REFERRER_LENGTH = 100;

export function createAudience({
  db,
  sweeps = localSweeps,
  clock,
  countryOf,
  log,
  days = 90,
  limits: limitOverrides = {},
}: AudienceDeps): Audience {
  const limits = { ...LIMITS, ...limitOverrides };
  const periods: readonly SumPeriod[] = audiencePeriods(days);
  const table = createAudienceTable(db, periods);
  const sessions = createViewerSessions();
  /** Hosts of the pages that recently embedded our player, by viewer. */
  const pages = new Map<string, string>();
  const combinations = createHourlySets(limits.combinations);
  const referrers = createHourlySets(limits.referrers);
  const views = createMetricBuffer<AudienceCell>({
    name: "stream: views",
    write: table.add,
    merge(into, from) {
      into.views += from.views;
      into.viewedMs += from.viewedMs;
    },
    log,
  });
  const concurrent = createMetricBuffer<ConcurrentCell>({
    name: "stream: concurrent viewers",
    write: table.addConcurrent,
    merge: (into, from) => void (into.viewers += from.viewers),
    log,
  });
  let lastSweptHour = Math.floor(clock.now() / HOUR_MS);

  function count(key: string, video: Video, seconds: number, about: () => ViewerSession["about"]) {
    const now = clock.now();
    const { session, isNew } = sessions.touch(key, now, about);
    const hour = Math.floor(now / HOUR_MS);
    let { cell } = session;
    if (cell === undefined || session.interval !== views.interval || session.hour !== hour) {
      cell = cellOf(video, session.about, hour);
      session.cell = cell;
      session.hour = hour;
      session.interval = views.interval;
    }
    cell.viewedMs += Math.round(seconds * 1000);
    if (isNew) cell.views++;
    const minute = Math.floor(now / MINUTE_MS);
    if (session.minute === minute) return;
    session.minute = minute;
    countConcurrent(video, minute * MINUTE_MS);
  }

  function cellOf(video: Video, about: ViewerSession["about"], hour: number): AudienceCell {
    const { account, uid, liveInput, creator, state } = video;
    const isLive = state === "live-inprogress";
    const hourKey = `${account}\n${hour}`;
    const referrer = about.referrer === "" || referrers.add(hourKey, about.referrer, hour) ? about.referrer : OTHER;
    const wanted = { ...about, referrer };
    const keyOf = ({ country, browser, os, device }: typeof wanted) =>
      [uid, isLive, country, browser, os, device, wanted.referrer].join("\n");
    const isAdmitted = combinations.add(hourKey, keyOf(wanted), hour);
    if (!isAdmitted) Object.assign(wanted, { browser: OTHER, os: OTHER, device: OTHER, referrer: OTHER });
    return views.cell(`${hourKey}\n${keyOf(wanted)}`, () => ({
      account,
      at: hour * HOUR_MS,
      uid,
      input: liveInput ?? "",
      creator: creator ?? "",
      isLive,
      ...wanted,
      views: 0,
      viewedMs: 0,
    }));
  }

  function countConcurrent({ account, uid, liveInput, creator, state }: Video, minute: number) {
    const subjects = ["", subjectOf.video(uid)];
    if (liveInput !== undefined && state === "live-inprogress") subjects.push(subjectOf.input(liveInput));
    if (creator !== null && creator !== "") subjects.push(subjectOf.creator(creator));
    for (const subject of subjects)
      concurrent.cell(`${minute}\n${account}\n${subject}`, () => ({ account, minute, subject, viewers: 0 })).viewers++;
  }

  const aboutSegment = (
    { video, viewer, request }: Pick<DeliveryContext, "video" | "viewer" | "request">,
    name: string,
  ) => {
    const { browser, os, type } = deviceOf(request.headers["user-agent"] ?? "");
    const ownPage = viewer.place === "ours" ? pages.get(`${video.uid}\n${name}`) : undefined;
    return {
      country: countryOf(viewer.ip) ?? "",
      browser,
      os,
      device: type,
      referrer: ownPage ?? hostOf(viewer.origin),
    };
  };

  async function flush() {
    await Promise.all([views.flush(), concurrent.flush()]);
    await sweep();
  }

  async function sweep() {
    const now = clock.now();
    sessions.forget(now);
    const hour = Math.floor(now / HOUR_MS);
    if (hour === lastSweptHour) return;
    lastSweptHour = hour;
    combinations.forget(hour);
    referrers.forget(hour);
    try {
      await sweeps.run("stream: sweep of metrics of viewers", HOUR_MS, () => table.sweep(now));
    } catch (err) {
      log.warn({ err }, "stream: failed to delete old viewer metrics, will retry");
      lastSweptHour = -1;
    }
  }
  const sweeping = setInterval(() => void sweep(), MINUTE_MS).unref();

  return {
    days,
    onSegment(viewing, seconds) {
      const name = viewerName(viewing.viewer.ip, viewing.request);
      count(`${viewing.video.uid}\n${name}`, viewing.video, seconds, () => aboutSegment(viewing, name));
    },
    onConnected({ video, session, ip, player }, seconds) {
      count(`${video.uid}\n${session}`, video, seconds, () => ({
        country: countryOf(ip) ?? "",
        browser: player,
        os: "Other",
        device: "other",
        referrer: "",
      }));
    },
    watchPage: (route) =>
      route.purpose !== "page"
        ? route
        : {
            ...route,
            async handle(viewing) {
              await route.handle(viewing);
              const { video, viewer, request } = viewing;
              const host = embedderOf(request, viewing.origin);
              if (host === undefined) return;
              if (pages.size >= MAX_PAGES) pages.delete(pages.keys().next().value!);
              pages.set(`${video.uid}\n${viewerName(viewer.ip, request)}`, host);
            },
          },
    sums({ step, ...query }) {
      const period = choosePeriod(periods, { ...query, step, now: clock.now() });
      return table.read({ ...query, period });
    },
    peaks({ account, subject: { uid, input, creator }, since, until, step, limit }) {
      const period = choosePeriod(periods, { since, until, step, now: clock.now() });
      const subject =
        uid !== undefined
          ? subjectOf.video(uid)
          : input !== undefined
            ? subjectOf.input(input)
            : creator !== undefined
              ? subjectOf.creator(creator)
              : "";
      return table.peaks(account, subject, { period, since, until, limit });
    },
    flush,
    async close() {
      clearInterval(sweeping);
      await Promise.all([views.close(), concurrent.close()]);
    },
  };
}

const hostOf = (origin: string | undefined): string => {
  const host = origin === undefined ? "" : (URL.parse(origin)?.host ?? "");
  return host.slice(0, MAX_REFERRER_LENGTH).toLowerCase();
};

/** Returns the host of the page that embeds or links to our page; undefined if that is unknown or our own. */
function embedderOf({ headers }: IncomingMessage, self: string): string | undefined {
  const host = hostOf(headers.referer);
  return host === "" || host === hostOf(self) ? undefined : host;
}

/** Creates sets of at most `most` values: one set per key, and each key belongs to an hour. */
function createHourlySets(most: number) {
  const sets = new Map<string, { hour: number; values: Set<string> }>();
  return {
    /** False if the value is not in the set and the set is full. */
    add(key: string, value: string, hour: number): boolean {
      const { values } = sets.getOrInsertComputed(key, () => ({ hour, values: new Set<string>() }));
      if (values.has(value)) return true;
      if (values.size >= most) return false;
      values.add(value);
      return true;
    },
    forget(current: number) {
      for (const [key, { hour }] of sets) if (hour < current) sets.delete(key);
    },
  };
}
