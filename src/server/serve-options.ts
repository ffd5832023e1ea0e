import type { Clock, Ids, Log } from "../kernel/index.ts";
import type { SettingsInput } from "../kernel/settings.ts";
import type { RuntimeOptions } from "../workers/index.ts";

/** Options of `reelpost serve`; everything else is configured in the settings. */
export interface ServeOptions {
  /** Working directory: relative paths are resolved against it. */
  cwd: string;
  /** Source of REELPOST_ variables and inherited sockets. */
  env: Record<string, string | undefined>;
  /** A settings file. Optional. */
  settingsFile?: string;
  /** From the command line: these override file and environment. */
  overrides?: SettingsInput;
  /** Default: all. */
  roles?: readonly string[];
  /** Creates and prints another token with every permission, in case the first one has been lost. */
  newToken?: boolean;
  /** Number of processes that share the ports; `auto`: one per CPU core. Default: only this process. */
  processes?: string;
  /** Version for the OpenAPI document. */
  version: string;
  /** Default: JSON lines to standard error, at the configured level. */
  log?: Log;
  clock?: Clock;
  ids?: Ids;
  /** Small values for tests. */
  limits?: { runtime?: RuntimeOptions["limits"]; graceMs?: number };
  /** For tests: a response that violates its schema fails the request. */
  checkResponses?: boolean;
}

/** Options for running `reelpost serve` in a terminal. */
export interface RunServeOptions extends ServeOptions {
  /** Print only one JSON object to standard output, when the server is ready. */
  json: boolean;
  print(line: string): void;
  warn(line: string): void;
  /** Called on the second Ctrl-C. Default: process.exit. */
  exit?: (code: number) => void;
}

export interface PlatformServer {
  /** `http://127.0.0.1:8787`, without a trailing slash. */
  readonly url: string;
  /** `https://127.0.0.1:8443`; absent if disabled. */
  readonly https: string | undefined;
  /** Base URL for clients; absent without the role api. */
  readonly api: string | undefined;
  /** URL of the dashboard; absent without the role api or if disabled. */
  readonly dashboard: string | undefined;
  readonly smtp: { host: string; port: number } | undefined;
  /** The listener for mail submission with implicit TLS. */
  readonly submission: { host: string; port: number } | undefined;
  /** Ports for live ingest and playback over TCP (RTMP) and UDP (SRT). */
  readonly live: { host: string; rtmpPort?: number; rtmpsPort?: number; srtPort?: number } | undefined;
  readonly dns: { host: string; port: number } | undefined;
  /** How outbound mail is delivered: the setting outbound.deliver. */
  readonly delivers: "files" | "mx" | "smart_host";
  readonly dataDir: string;
  readonly roles: string[];
  /** The oldest account, and the URL of its workers: `http://<worker>.main.localhost:8787`. */
  readonly account: { id: string; name: string } | undefined;
  readonly workersUrl: string | undefined;
  /** The mail address of a worker: `<worker>@main.localhost`. */
  readonly workersMail: string | undefined;
  /** The new token: created at the first start unless configured, or on request. It is not stored. */
  readonly token: string | undefined;
  /** A link for the first sign-in to the dashboard, valid for 30 minutes. Only at the first start. */
  readonly signInLink: string | undefined;
  /** Problems with the settings that do not prevent the start. */
  readonly warnings: string[];
  /** Stops the server gracefully; waits for cluster.drain_seconds first. */
  close(): Promise<void>;
}
