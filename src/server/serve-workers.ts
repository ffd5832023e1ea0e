import { workerParent } from "../api/index.ts";
import type { OwnAddresses } from "../kernel/own-addresses.ts";
import type { Settings } from "../kernel/settings.ts";
import {
  createSendEmailService,
  createRuntime,
  createStreamService,
  type BindingServices,
  type RuntimeOptions,
  type SendEmailPort,
  type StreamPort,
  type WorkerRuntime,
} from "../workers/index.ts";
import type { Basics } from "./compose.ts";
import { egressOf, limitsOf, processesOf, runFolderOf } from "./runtime-settings.ts";

interface ServeWorkersParts {
  bindings: Omit<BindingServices, "sendEmail" | "stream">;
  settings: Settings;
  own: OwnAddresses;
  limits?: RuntimeOptions["limits"];
  client: NonNullable<RuntimeOptions["client"]>;
}

interface ServeWorkers {
  runtime: WorkerRuntime;
  /**
   * Mail needs the runtime, and a worker's `send()` needs mail: set once mail has been created, before any worker runs.
   */
  sendMailWith(port: SendEmailPort): void;
  /** The same for video. */
  streamWith(port: StreamPort): void;
}

/** Creates the processes in which deployed workers run. */
export function composeServeWorkers(
  { bindings, settings, own, limits, client }: ServeWorkersParts,
  { clock, ids, log, lifecycle }: Basics,
): ServeWorkers {
  const ports: { mail?: SendEmailPort; stream?: StreamPort } = {};
  const mail = () => ports.mail ?? reject("mail");
  const sendEmail = createSendEmailService({
    port: { sendRaw: (...call) => mail().sendRaw(...call), sendBuilt: (...call) => mail().sendBuilt(...call) },
    log,
  });
  const stream = createStreamService({
    port: { call: (...call) => (ports.stream ?? reject("video")).call(...call) },
    log,
  });
  const { domain } = settings.workers;
  const siteOf: RuntimeOptions["siteOf"] = ({ headers: { host } }, script) => {
    const parent = workerParent(host, domain);
    return parent === undefined ? { kind: "shared", path: `/workers/${script}` } : { kind: "own", parent };
  };
  const runtime = createRuntime({
    services: { ...bindings, sendEmail, stream },
    egress: egressOf(settings, own),
    ...processesOf(settings),
    runFolder: runFolderOf(settings.data_dir),
    client,
    siteOf,
    limits: { ...limitsOf(settings), ...limits },
    ids,
    log,
    clock,
  });
  lifecycle.onStop("workers", () => runtime.close(), { timeoutMs: 15_000 });
  return {
    runtime,
    sendMailWith(given) {
      ports.mail = given;
    },
    streamWith(given) {
      ports.stream = given;
    },
  };
}

function reject(what: string): never {
  throw new Error(`a worker runs before there is ${what}`);
}
