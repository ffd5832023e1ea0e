import type { Clock, Ids, Log } from "../kernel/index.ts";
import type { SettingsInput } from "../kernel/settings.ts";
import type { RuntimeOptions } from "../workers/index.ts";

/** What `reelpost serve` is asked to do; everything else stands in the settings. */
export interface ServeOptions {
  /** Where the command runs: relative paths are meant from here. */
  cwd: string;
  /** Where REELPOST_ variables and inherited sockets are looked for. */
  env: Record<string, string | undefined>;
  /** A settings file. Without it there are the defaults and the environment. */
  settingsFile?: string;
  /** From the command line: goes before file and environment. */
  overrides?: SettingsInput;
  /** Default: all. */
  roles?: readonly string[];
  /** Makes one more token with every permission and tells it, for when the first one is lost. */
  newToken?: boolean;
  /** Of this program, for the API document. */
  version: string;
  /** Default: JSON lines on standard error, at the level of the settings. */
  log?: Log;
  clock?: Clock;
  ids?: Ids;
  /** Tests make these small. */
  limits?: { runtime?: RuntimeOptions["limits"]; graceMs?: number };
  /** Tests: an answer that is not what its route declares fails the request. */
  checkAnswers?: boolean;
}

export interface ServeServer {
  /** `http://127.0.0.1:8787`, without a slash at the end. */
  readonly url: string;
  /** `https://127.0.0.1:8443`; absent where the settings do not want it. */
  readonly https: string | undefined;
  /** What clients take as base URL; absent without the role. */
  readonly api: string | undefined;
  readonly smtp: { host: string; port: number } | undefined;
  /** For mail to send; TLS from the first octet. */
  readonly submission: { host: string; port: number } | undefined;
  /** Where broadcasts are published and played, over TCP (RTMP) and UDP (SRT). */
  readonly live: { host: string; rtmpPort?: number; rtmpsPort?: number; srtPort?: number } | undefined;
  readonly dns: { host: string; port: number } | undefined;
  /** Where mail goes that leaves: the setting outbound.deliver. */
  readonly delivers: "files" | "mx" | "smart_host";
  readonly dataDir: string;
  readonly roles: string[];
  /** The oldest account, and where its workers are: `http://<worker>.main.localhost:8787`. */
  readonly account: { id: string; name: string } | undefined;
  readonly workersUrl: string | undefined;
  /** `<worker>@main.localhost` */
  readonly workersMail: string | undefined;
  /** The value of the token that was made: at the first start unless the settings said it, or because one was asked for. It is kept nowhere. */
  readonly token: string | undefined;
  /** Problems of the settings that keep nothing from running. */
  readonly warnings: string[];
  close(): Promise<void>;
}
