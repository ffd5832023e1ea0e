import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createApi, createClientAddress, createGate, createPlatformHttp } from "../api/index.ts";
import { formatProblems } from "../kernel/config/index.ts";
import { createLifecycle, createLog, randomIds, systemClock, type Lifecycle } from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import { createSmtpListener, type SmtpListener } from "../mail/index.ts";
import { composeRoutes } from "./api-routes.ts";
import { composeBindings, composeLocalMail, openStore, type Basics } from "./compose.ts";
import { lockDataDirectory } from "./data-lock.ts";
import { inheritedSockets } from "./inherited-sockets.ts";
import { meterWorkers } from "./meters.ts";
import { refuseUnprepared } from "./open-to-others.ts";
import { composePlatform, openSecrets, type Platform } from "./platform.ts";
import { createProbes } from "./probes.ts";
import { parseRoles } from "./roles.ts";
import { egressOf, limitsOf, processesOf } from "./runtime-settings.ts";
import type { ServeOptions, ServeServer } from "./serve-options.ts";
import { mailRoute } from "./worker-addresses.ts";

const GRACE_MS = 30_000;
const RATE_WINDOW_SECONDS = 300;

/**
 * Starts the platform and resolves when it takes requests. Rejects with UserError for settings that cannot be used, a port or a data directory
 * that is taken, and for an address that other machines can reach before keys and tokens are configured.
 */
export async function startServe(options: ServeOptions): Promise<ServeServer> {
  const { cwd, env, settingsFile: file, overrides, clock = systemClock, ids = randomIds, limits = {}, version } = options;
  const { settings, warnings } = await readSettings({ cwd, env, ...(file !== undefined && { file }), ...(overrides !== undefined && { overrides }) });
  const roles = parseRoles(options.roles);
  const log = options.log ?? createLog({ level: settings.log.level });
  const lifecycle = createLifecycle({ log });
  const basics: Basics = { clock, ids, log, lifecycle };
  const { data_dir: dataDir } = settings;
  const database = settings.database.url === "" ? undefined : settings.database;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    lockAlone(dataDir, lifecycle, database === undefined);
    const store = await openStore(dataDir, basics, database);
    const bindings = composeBindings(store, dataDir, basics);

    const late: { platform?: Platform } = {};
    const { runtime, receiver, spool } = composeLocalMail(
      {
        bindings,
        mailDirectory: join(dataDir, "mail"),
        spoolDirectory: join(dataDir, "spool"),
        egress: egressOf(settings),
        ...processesOf(settings),
        limits: { ...limitsOf(settings), ...limits.runtime },
        onCaptured: ({ mail, files }) => log.info({ message: mail.messageId, to: mail.to, file: files[0]?.path }, "mail of a worker was written to a file"),
        route: (recipient) => mailRoute(recipient, settings.workers.domain, late.platform!.scripts),
        rules: {},
        observe(processes) {
          late.platform = composePlatform({ store, bindings, secrets: openSecrets(settings, dataDir), runtime: processes, settings, scheduled: roles.has("workers") }, basics);
          return { ...processes, email: (name, mail, actions) => late.platform!.live.email(refOf(name), mail, actions) };
        },
      },
      basics,
    );
    const platform = late.platform!;
    const metrics = meterWorkers(runtime);
    lifecycle.onStop("metrics", () => metrics.close());

    refuseUnprepared([...(roles.has("api") || roles.has("workers") ? [settings.http.host] : []), ...(roles.has("smtp") ? [settings.smtp.host] : [])], settings, (await platform.defaultAccount()) !== undefined);
    const { account_name: accountName, email, token } = settings.api;
    const first = await platform.accounts.bootstrap({ accountName, email, ...(token !== "" && { token }) });
    const account = await platform.defaultAccount();

    const sockets = inheritedSockets(env);
    const addresses = { url: "" };
    const publicUrl = () => (settings.http.public_url === "" ? addresses.url : settings.http.public_url.replace(/\/+$/, ""));
    const workerUrl = (label: string, script: string) => workerUrlOf(publicUrl(), settings.workers.domain, label, script);
    const clients = createClientAddress(settings.http.trusted_proxies);
    const api = roles.has("api")
      ? createApi({
          routes: composeRoutes(platform, bindings, workerUrl, basics),
          gate: createGate({ accounts: platform.accounts, zoneAccount: async () => undefined }),
          clock, ids, log, version,
          rateLimit: { requests: settings.api.rate_limit, seconds: RATE_WINDOW_SECONDS },
          clientIp: clients.ip,
          checkAnswers: options.checkAnswers === true,
        })
      : undefined;
    const http = createPlatformHttp({
      ...(api !== undefined && { api }),
      ...(roles.has("workers") && {
        workers: {
          live: platform.live,
          bySubdomain: (label, script) => platform.scripts.bySubdomain(label, script),
          defaultAccount: async () => account?.id,
          domain: settings.workers.domain,
        },
      }),
      pages: createProbes({
        metrics,
        metricsToken: settings.http.metrics_token,
        stopping: lifecycle.stopping,
        ready: async () => void (await platform.defaultAccount()),
        version,
        links: () => ({ API: `${publicUrl()}/client/v4`, "API docs": `${publicUrl()}/client/v4/docs`, Health: `${publicUrl()}/healthz` }),
      }),
      log,
      graceMs: limits.graceMs ?? GRACE_MS,
    });
    const { url } = await http.listen({ host: settings.http.host, port: settings.http.port, ...(sockets.has("http") && { fd: sockets.get("http")! }) });
    addresses.url = url;
    lifecycle.onStop("http", () => http.close(), { timeoutMs: (limits.graceMs ?? GRACE_MS) + 5000 });
    let smtp: SmtpListener | undefined;
    if (roles.has("smtp")) {
      smtp = await createSmtpListener({ host: settings.smtp.host, port: settings.smtp.port, receive: receiver.receive, spool, clock, ids, log, limits: { messageBytes: spool.maxBytes, closeMs: limits.graceMs ?? GRACE_MS } });
      lifecycle.onStop("smtp", () => smtp!.close(), { timeoutMs: (limits.graceMs ?? GRACE_MS) + 5000 });
    }
    const label = account && (await platform.scripts.subdomain(account.id));
    return {
      url,
      api: api && `${publicUrl()}/client/v4`,
      smtp: smtp && { host: smtp.host, port: smtp.port },
      dataDir,
      roles: [...roles],
      account,
      workersUrl: label !== undefined && roles.has("workers") ? workerUrl(label, "<worker>") : undefined,
      workersMail: label !== undefined && smtp !== undefined ? `<worker>@${label}.${settings.workers.domain}` : undefined,
      token: first?.token,
      warnings: warnings.length === 0 ? [] : [formatProblems(warnings, { cwd })],
      close: () => lifecycle.stop(),
    };
  } catch (err) {
    await lifecycle.stop();
    throw err;
  }
}

/** SQLite and the files of D1 have one owner. With PostgreSQL the first process on a data directory is the one that has D1. */
function lockAlone(dataDir: string, lifecycle: Lifecycle, needed: boolean): void {
  if (!needed) return;
  const lock = lockDataDirectory(dataDir);
  lifecycle.onStop("lock", lock.release);
}

/** What the mail room calls a worker of an account. */
const refOf = (name: string) => {
  const slash = name.indexOf("/");
  return { account: name.slice(0, slash), script: name.slice(slash + 1) };
};

function workerUrlOf(base: string, domain: string, label: string, script: string): string {
  const { protocol, port } = new URL(base);
  return `${protocol}//${script}.${label}.${domain}${port === "" ? "" : `:${port}`}`;
}

