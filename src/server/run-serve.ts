import { createLifecycle, createLog, stopOnSignals } from "../kernel/index.ts";
import { startServe } from "./serve.ts";
import type { ServeOptions, ServeServer } from "./serve-options.ts";

export interface RunServeOptions extends ServeOptions {
  /** Prints one JSON object to standard output when ready, and nothing else. */
  json: boolean;
  print(line: string): void;
  warn(line: string): void;
  /** Exits immediately on the second Ctrl-C. Default process.exit. */
  exit?: (code: number) => void;
}

/** Includes cluster.drain_seconds. */
const STOP_TIMEOUT_MS = 120_000;

/** Runs `reelpost serve` until it is stopped. Resolves with the exit code; rejects if it cannot start. */
export async function runServe({
  json,
  print,
  warn,
  exit = process.exit,
  ...options
}: RunServeOptions): Promise<number> {
  const log = options.log ?? createLog({ level: "info" });
  const lifecycle = createLifecycle({ log });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  const releaseSignals = stopOnSignals(lifecycle, (code) => (code === 0 ? stop(0) : exit(code)));
  try {
    const server = await startServe(options);
    lifecycle.onStop("server", () => server.close(), { timeoutMs: STOP_TIMEOUT_MS });
    if (lifecycle.stopping.aborted) await server.close();
    for (const warning of server.warnings) warn(warning);
    if (json) print(JSON.stringify(readyEvent(server, options.version)));
    else for (const line of formatBanner(server, options.version)) print(line);
    return await stopped;
  } catch (err) {
    await lifecycle.stop();
    throw err;
  } finally {
    releaseSignals();
  }
}

/** The event that a parent program waits for. */
const readyEvent = (
  {
    url,
    https,
    api,
    dashboard,
    smtp,
    submission,
    dns,
    live,
    dataDir,
    roles,
    account,
    workersUrl,
    token,
    signInLink,
  }: ServeServer,
  version: string,
) => ({
  event: "ready",
  version,
  url,
  ...(https !== undefined && { https }),
  ...(api !== undefined && { api }),
  ...(dashboard !== undefined && { dashboard }),
  ...(smtp !== undefined && { smtp }),
  ...(submission !== undefined && { submission }),
  ...(dns !== undefined && { dns }),
  ...(live !== undefined && { live }),
  dataDirectory: dataDir,
  roles,
  ...(account !== undefined && { account }),
  ...(workersUrl !== undefined && { workers: workersUrl }),
  ...(token !== undefined && { token }),
  ...(signInLink !== undefined && { signInLink }),
});

function formatLiveRow({ host, rtmpPort, rtmpsPort, srtPort }: NonNullable<ServeServer["live"]>): string {
  const ports = [
    ["RTMP", rtmpPort],
    ["RTMPS", rtmpsPort],
    ["SRT", srtPort],
  ].flatMap(([name, port]) => (port === undefined ? [] : [`${name} ${host}:${port}`]));
  return `${ports.join("  ")}  and WebRTC`;
}

const DELIVERY_NOTES = {
  files: "outbound mail is written to files in mail/ (outbound.deliver)",
  mx: "outbound mail is delivered to the MX hosts of its domain",
  smart_host: "outbound mail is relayed through the smart host",
};

function formatBanner(
  {
    url,
    https,
    api,
    dashboard,
    smtp,
    submission,
    dns,
    live,
    delivers,
    dataDir,
    account,
    workersUrl,
    workersMail,
    token,
    signInLink,
    roles,
  }: ServeServer,
  version: string,
): string[] {
  const rows: [string, string | undefined][] = [
    ["Dashboard", dashboard],
    ["API", api],
    ["API docs", api && `${api}/docs`],
    ["Workers", workersUrl],
    ["", workersUrl && `${url}/workers/<worker>/`],
    ["Videos", roles.includes("playback") ? `${url}/<video>/watch` : undefined],
    ["Live", live && formatLiveRow(live)],
    ["HTTPS", https],
    ["SMTP", smtp && `${smtp.host}:${smtp.port}  for ${workersMail}`],
    [
      "",
      submission &&
        `${submission.host}:${submission.port}  submission over TLS; user: api_token, password: an API token`,
    ],
    ["", smtp && DELIVERY_NOTES[delivers]],
    ["DNS", dns && `${dns.host}:${dns.port}  UDP and TCP`],
    ["Health", `${url}/healthz  /readyz  /metrics`],
    ["Data", dataDir],
    ["Account", account && `${account.id}  ${account.name}`],
  ];
  const lines = [
    `Reelpost ${version} serves ${roles.join(", ")}`,
    "",
    ...rows.filter(([, value]) => value !== undefined).map(([name, value]) => `  ${name.padEnd(9)} ${value}`),
  ];
  if (signInLink !== undefined)
    lines.push("", "  Sign in to the dashboard with this link, within 30 minutes:", "", `    ${signInLink}`);
  if (token !== undefined) {
    lines.push(
      "",
      "  API token with all permissions. It is shown only once and is not stored:",
      "",
      `    ${token}`,
      "",
      "  Next, in another terminal: `reelpost login`, and `reelpost deploy` in the folder of a worker.",
      "  CI jobs, wrangler and the cloudflare SDK read it from the environment:",
      "",
      `    export CLOUDFLARE_BASE_URL=${api ?? url}`,
      `    export CLOUDFLARE_API_BASE_URL=${api ?? url}`,
      `    export CLOUDFLARE_API_TOKEN=${token}`,
      `    export CLOUDFLARE_ACCOUNT_ID=${account?.id ?? ""}`,
    );
  }
  return [...lines, ""];
}
