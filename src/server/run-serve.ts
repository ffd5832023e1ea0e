import { createLifecycle, createLog, stopOnSignals } from "../kernel/index.ts";
import { releaseStartMemory } from "../kernel/start-memory.ts";
import { processSlot } from "./processes/process-slot.ts";
import { connectToSupervisor, processCount, superviseServe } from "./processes/supervise-serve.ts";
import { startServe } from "./serve.ts";
import type { RunServeOptions, PlatformServer } from "./serve-options.ts";

const STOP_TIMEOUT_MS = 120_000;

/** Runs `reelpost serve` until it is stopped. Resolves with the exit code; rejects if it cannot start. */
export async function runServe(runOptions: RunServeOptions): Promise<number> {
  const { json, print, warn, exit = process.exit, ...options } = runOptions;
  const slot = processSlot(options.env);
  const count = slot === undefined ? processCount(options.processes) : 1;
  if (count > 1) return superviseServe(runOptions, count, (server) => printReady(server, runOptions));
  const log = options.log ?? createLog({ level: "info" });
  const lifecycle = createLifecycle({ log });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  const releaseSignals = stopOnSignals(lifecycle, (code) => (code === 0 ? stop(0) : exit(code)));
  const supervisor = slot && connectToSupervisor(() => void lifecycle.stop().then(() => stop(0)));
  try {
    const server = await startServe(options);
    lifecycle.onStop("server", () => server.close(), { timeoutMs: STOP_TIMEOUT_MS });
    if (lifecycle.stopping.aborted) await server.close();
    if (slot === undefined || slot.number === 1) for (const warning of server.warnings) warn(warning);
    if (slot === undefined) printReady(server, { json, print, version: options.version });
    supervisor?.ready(server);
    const cancelRelease = releaseStartMemory();
    lifecycle.onStop("start memory", async () => cancelRelease());
    return await stopped;
  } catch (err) {
    await lifecycle.stop();
    throw err;
  } finally {
    releaseSignals();
    supervisor?.close();
  }
}

function printReady(
  server: PlatformServer,
  { json, print, version }: Pick<RunServeOptions, "json" | "print" | "version">,
) {
  if (json) print(JSON.stringify(readyEvent(server, version)));
  else for (const line of formatBanner(server, version)) print(line);
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
  }: PlatformServer,
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

function formatLiveRow({ host, rtmpPort, rtmpsPort, srtPort }: NonNullable<PlatformServer["live"]>): string {
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
  }: PlatformServer,
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
