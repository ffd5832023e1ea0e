import type { Dev, DevLimits, EventReporter } from "../dev/index.ts";
import type { Clock, Ids, Log } from "../kernel/index.ts";
import type { Binding } from "../workers/index.ts";

/** Options of `reelpost dev`; everything with a sensible default is optional. */
export interface DevOptions {
  /** Working directory: relative paths are resolved against it. */
  cwd: string;
  /** Source of REELPOST_ variables. Default: none. */
  env?: Record<string, string | undefined>;
  /**
   * Configuration files, one per worker; the first worker is the default. Default: the file found in `cwd` or a parent
   * folder.
   */
  configs?: string[];
  /** The value of `--env`. */
  environment?: string;
  /** Default: `dev.ip` of the first configuration, or 127.0.0.1. */
  host?: string;
  /** Default: `dev.port` of the first configuration, or 8787. 0 selects a free port. */
  port?: number;
  /**
   * Default: `reelpost.smtpPort` of the first configuration, or the first free port from 2525 to 2534. 0 selects a free
   * port; false disables SMTP.
   */
  smtpPort?: number | false;
  /**
   * Default: REELPOST_DASHBOARD_PORT, or the first free port from 8790 to 8799. 0 selects a free port; false disables
   * the dashboard.
   */
  dashboardPort?: number | false;
  /** Default: `.reelpost` in the folder of the first configuration file. */
  dataDir?: string;
  /** True to rebuild when a file changes. Default true. */
  watch?: boolean;
  /** SQL files to run on D1 databases: `BINDING=FILE`, or `FILE` if there is only one database. Default: none. */
  seeds?: string[];
  /** Variables that override those in the configurations, in every worker. Default: none. */
  vars?: Readonly<Record<string, unknown>>;
  /** Simulates failures for this percentage of the recipients of outgoing messages. Default: none. */
  chaos?: { percent: number; seed: number };
  /** Version shown in the dashboard. Default "dev". */
  version?: string;
  /** Receives all events. */
  report: EventReporter;
  log: Log;
  clock?: Clock;
  ids?: Ids;
  /** Small values for tests. */
  limits?: DevLimits;
}

export interface DevServer {
  /** `http://127.0.0.1:8787`, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly smtp: { host: string; port: number } | undefined;
  /** URL of the dashboard; undefined if disabled. */
  readonly dashboard: string | undefined;
  readonly dataDir: string;
  /** Folder of this run's `.eml` files. */
  readonly mailDir: string;
  /** The v4 API, for the dashboard: it rejects requests from other origins and passes the rest to `handleLocal`. */
  readonly api: Pick<Dev["api"], "handleLocal" | "upgrade">;
  /** For tests that run in this process. */
  readonly control: Dev["control"];
  /** The current workers, the default one first. */
  readonly workers: { name: string; config: string; bindings: Binding[] }[];
  /** Reads the configuration and rebuilds every worker. */
  rebuild(): Promise<void>;
  close(): Promise<void>;
}
