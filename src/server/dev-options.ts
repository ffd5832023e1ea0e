import type { Report } from "../dev/index.ts";
import type { Clock, Ids, Log } from "../kernel/index.ts";
import type { Binding, RuntimeOptions } from "../workers/index.ts";

/** What `reelpost dev` is asked to do. Everything has a default but what cannot have one. */
export interface DevOptions {
  /** Where the command runs: relative paths are meant from here. */
  cwd: string;
  /** Where REELPOST_ variables are looked for. Default: nowhere. */
  env?: Record<string, string | undefined>;
  /** Configuration files, one worker each; the first worker is the default one. Default: the file found in `cwd` or above. */
  configs?: string[];
  /** `--env` */
  environment?: string;
  /** Default: `dev.ip` of the first configuration, or 127.0.0.1. */
  host?: string;
  /** Default: `dev.port` of the first configuration, or 8787. 0 takes any free port. */
  port?: number;
  /** Default: `reelpost.smtpPort` of the first configuration, or the first free one of 2525 to 2534. 0 takes any free port; false: no SMTP. */
  smtpPort?: number | false;
  /** Default: `.reelpost` beside the first configuration file. */
  dataDir?: string;
  /** Rebuild when a file changes. Default true. */
  watch?: boolean;
  /** Told about everything that happens. */
  report: Report;
  log: Log;
  clock?: Clock;
  ids?: Ids;
  /** Tests make these small. */
  limits?: DevLimits;
}

export interface DevLimits {
  runtime?: RuntimeOptions["limits"];
  /** Octets of a message. Default 25 MiB. */
  messageBytes?: number;
  /** How long close() waits for what is under way. Default 5 s. */
  graceMs?: number;
}

export interface DevServer {
  /** `http://127.0.0.1:8787`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly smtp: { host: string; port: number } | undefined;
  readonly dataDir: string;
  /** Where the `.eml` files of this run go. */
  readonly mailDir: string;
  /** As they are now, the default one first. */
  readonly workers: { name: string; config: string; bindings: Binding[] }[];
  /** Reads the configuration and builds every worker again. */
  rebuild(): Promise<void>;
  close(): Promise<void>;
}
