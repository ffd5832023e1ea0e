import { join } from "node:path";
import type { Dashboard } from "../dashboard/index.ts";
import { checkClusterSettings } from "../cluster/index.ts";
import { createCorrectedClock } from "../kernel/corrected-clock.ts";
import { formatProblems } from "../kernel/config/index.ts";
import {
  createLifecycle,
  createLog,
  idsOfNode,
  isLoopback,
  randomIds,
  systemClock,
  type Basics,
} from "../kernel/index.ts";
import { startTelemetry } from "../kernel/telemetry/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import { checkRestored } from "./backup.ts";
import { lockDataDirectory, openDataDirectory } from "./data-lock.ts";
import { inheritedSockets } from "./inherited-sockets.ts";
import { listenHosts } from "./listen-hosts.ts";
import { connectToPrimaryProcess, listenForCalls } from "./processes/primary-process.ts";
import {
  mayCreateToken,
  SLOT_VARIABLE,
  processSlot,
  rolesOfSlot,
  settingsOfSlot,
  sharedDatabaseOf,
  shareFolders,
} from "./processes/process-slot.ts";
import { checkPublicAddress } from "./public-address.ts";
import { startScheduledBackups } from "./scheduled-backups.ts";
import { parseRoles, checkStandaloneRoles } from "./roles.ts";
import { createServeHttp } from "./serve-http.ts";
import type { ServeOptions, PlatformServer } from "./serve-options.ts";
import { GRACE_MS, openModules } from "./serve-modules.ts";
import { createUrls } from "./serve-urls.ts";
import { signInUrl } from "./sign-in-link.ts";

/**
 * Starts the platform and resolves when it accepts requests. Rejects with UserError for unusable settings, for a port
 * or data directory that is in use, and for an address that other machines can reach before keys and tokens are
 * configured.
 */
export async function startServe(options: ServeOptions): Promise<PlatformServer> {
  const {
    cwd,
    env,
    settingsFile: file,
    overrides,
    clock: local = systemClock,
    ids: givenIds = randomIds,
    limits,
  } = options;
  const slot = processSlot(env);
  const {
    settings: givenSettings,
    warnings,
    origins,
  } = await readSettings({
    cwd,
    // The variable of the supervisor is not a setting.
    env: { ...env, [SLOT_VARIABLE]: undefined },
    ...(file !== undefined && { file }),
    ...(overrides !== undefined && { overrides }),
  });
  const settings = settingsOfSlot(givenSettings, slot);
  const {
    http: httpAt,
    api: { token, account_name: accountName, email },
    data_dir: dataDir,
  } = settings;
  const roles = rolesOfSlot(parseRoles(options.roles), slot);
  const sockets = inheritedSockets(env);
  checkClusterSettings(givenSettings);
  if (settings.database.url === "") checkStandaloneRoles(parseRoles(options.roles));
  const processLog = options.log ?? createLog({ level: settings.log.level });
  const log = slot === undefined ? processLog : processLog.child({ process: slot.number });
  const lifecycle = createLifecycle({ log });
  const graceMs = limits?.graceMs ?? GRACE_MS;
  try {
    openDataDirectory(dataDir);
    if (slot !== undefined) shareFolders(givenSettings.data_dir, slot);
    const lock = lockDataDirectory(dataDir, { isSupervised: slot !== undefined });
    lifecycle.onStop("lock", lock.release);
    checkRestored(dataDir);
    const nodeId = givenIds.hex();
    const ids = idsOfNode(givenIds, nodeId);
    // If several processes use the database, openModules() corrects it to the clock of the database.
    const clock = createCorrectedClock(local);
    const telemetry = await startTelemetry({ settings, env, version: options.version }, { clock, ids, log, lifecycle });
    const basics: Basics = { clock, ids, log, lifecycle, tracing: telemetry?.tracing };
    const urls = createUrls(settings);
    // Sockets of the supervisor are bound to the addresses in the settings.
    const hosts = listenHosts(settings, roles, slot === undefined ? sockets : new Map());
    const folderOfProcesses = join(givenSettings.data_dir, "processes");
    const primaryProcess = slot && slot.number > 1 ? connectToPrimaryProcess(folderOfProcesses) : undefined;
    if (primaryProcess !== undefined) lifecycle.onStop("primary process", async () => primaryProcess.close());
    const modules = await openModules(settings, roles, urls.base, limits, basics, {
      isExposed: !hosts.every(isLoopback),
      telemetry,
      version: options.version,
      nodeId,
      local,
      corrected: clock,
      primary: primaryProcess && { ...primaryProcess, directory: givenSettings.data_dir },
      shared: sharedDatabaseOf(givenSettings, slot),
    });
    if (slot?.number === 1) {
      // Registered before the listeners, so that it stops after them: the other processes wait only while this one
      // is replaced, not while it completes its own requests.
      const services = { ...modules.bindings.processServices, ...modules.platform.processServices };
      const calls = await listenForCalls(folderOfProcesses, services, { log });
      lifecycle.onStop("calls of other processes", calls.close);
    }
    modules.platform.accounts.members.onInvitation(({ secret, ...invitation }) =>
      modules.mail.sendInvitation(invitation, `${urls.dashboard() ?? urls.base()}/sign-in#invite=${secret}`),
    );
    const { accounts, scripts, defaultAccount } = modules.platform;

    checkPublicAddress(hosts, settings, (await defaultAccount()) !== undefined);
    const first = await accounts.bootstrap({ accountName, email, ...(token !== "" && { token }) });
    const firstToken = token === "" ? first?.token : undefined;
    const newToken =
      options.newToken === true && mayCreateToken(slot) && firstToken === undefined
        ? (await accounts.createAdminToken()).token
        : undefined;
    const account = await defaultAccount();
    const label = account && (await scripts.subdomain(account.id));

    const { http, dashboard } = createServeHttp(
      { modules, settings, origins, roles, options, nodeId, graceMs, account, label, urls },
      basics,
    );
    const listeners: { close(): Promise<void> }[] = [http];
    // Concurrently, so that neither accepts new work while the other stops.
    lifecycle.onStop("listeners", async () => void (await Promise.all(listeners.map((listener) => listener.close()))), {
      timeoutMs: graceMs + 5000,
    });
    const { url } = await http.listen({ ...httpAt, ...fdOf("http") });
    urls.listening = url;
    if (dashboard !== undefined) await listenForDashboard(dashboard);
    const https = settings.tls.https
      ? (
          await http.listen(
            { host: httpAt.host, port: settings.tls.https_port, ...fdOf("https") },
            modules.certificates.tls,
          )
        ).url
      : undefined;
    const dashboardUrl = urls.dashboard();
    const signInLink =
      first === undefined || dashboardUrl === undefined
        ? undefined
        : signInUrl(dashboardUrl, (await accounts.createSignInLink()).secret);
    const smtp = roles.has("smtp") ? await listenForMail() : undefined;
    const submission = roles.has("smtp") ? await listenForSubmission() : undefined;
    const dns = roles.has("dns") ? await listenForDns() : undefined;

    const live = roles.has("live") ? await modules.stream.listen() : undefined;
    for (const port of [live?.rtmpPort, live?.rtmpsPort]) if (port !== undefined) modules.own.listening(port);

    modules.mail.start();
    modules.stream.start();
    // From here on, all processes can respond to challenges.
    modules.certificates.start();
    const backups =
      slot !== undefined && slot.number > 1
        ? undefined
        : startScheduledBackups(settings, { version: options.version, clock, log });
    lifecycle.onStop("scheduled backups", async () => backups?.stop());
    const internal = await modules.cluster?.listen(http.forwarded);
    if (internal !== undefined) {
      listeners.push(internal);
      modules.own.listening(internal.port);
    }
    await modules.cluster?.join();
    // Registered last, so that it runs first. Until it ends, this process handles requests as before.
    lifecycle.onStop("draining", () => modules.cluster?.drain(), {
      timeoutMs: settings.cluster.drain_seconds * 1000 + 5000,
    });

    return {
      url,
      https,
      api: roles.has("api") ? urls.api() : undefined,
      dashboard: dashboardUrl,
      smtp,
      submission,
      dns,
      live: live && { host: settings.live.host, ...live },
      delivers: settings.outbound.deliver,
      dataDir,
      roles: [...roles],
      account: account && { id: account.id, name: account.name },
      workersUrl: label !== undefined && roles.has("workers") ? urls.worker(label, "<worker>") : undefined,
      workersMail:
        label !== undefined && smtp !== undefined ? `<worker>@${label}.${settings.workers.domain}` : undefined,
      token: firstToken ?? newToken,
      signInLink,
      warnings: warnings.length === 0 ? [] : [formatProblems(warnings, { cwd })],
      close: () => lifecycle.stop(),
    };

    async function listenForDashboard(served: Dashboard) {
      const { host, port } = settings.dashboard;
      const listener = await served.listen({ host, port, ...fdOf("dashboard") });
      listeners.push(served);
      modules.own.listening(listener.port);
      urls.dashboardListening = listener.url;
    }

    async function listenForDns() {
      const server = await modules.dns.listen();
      if (server === undefined) return undefined;
      modules.own.listening(server.port);
      listeners.push(server);
      return { host: server.host, port: server.port };
    }

    async function listenForMail() {
      const { host, port, close } = await modules.mail.listen({ tls: modules.certificates.tls, ...fdOf("smtp") });
      listeners.push({ close });
      modules.own.listening(port);
      return { host, port };
    }

    async function listenForSubmission() {
      const listener = await modules.mail.listenForSubmission({
        tls: modules.certificates.tls,
        ...fdOf("submission"),
      });
      if (listener === undefined) return undefined;
      const { host, port, close } = listener;
      modules.own.listening(port);
      listeners.push({ close });
      return { host, port };
    }
  } catch (err) {
    await lifecycle.stop();
    throw err;
  }

  function fdOf(name: string): { fd?: number } {
    const fd = sockets.get(name);
    return fd === undefined ? {} : { fd };
  }
}
