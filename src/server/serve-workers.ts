import type { Settings } from "../kernel/settings.ts";
import { createSendEmailService, createRuntime, type BindingServices, type RuntimeOptions, type SendEmailPort, type WorkerRuntime } from "../workers/index.ts";
import type { Basics } from "./compose.ts";
import { egressOf, limitsOf, processesOf } from "./runtime-settings.ts";

export interface ServeWorkersParts {
  bindings: Omit<BindingServices, "sendEmail">;
  settings: Settings;
  limits?: RuntimeOptions["limits"];
  client: NonNullable<RuntimeOptions["client"]>;
}

export interface ServeWorkers {
  runtime: WorkerRuntime;
  /** Mail needs the runtime, and a worker's `send()` needs mail: told once mail is there, before any worker is given work. */
  sendMailWith(port: SendEmailPort): void;
}

/** The processes in which deployed workers run. */
export function composeServeWorkers({ bindings, settings, limits, client }: ServeWorkersParts, { clock, ids, log, lifecycle }: Basics): ServeWorkers {
  let port: SendEmailPort | undefined;
  const mail = () => port ?? reject();
  const sendEmail = createSendEmailService({ port: { sendRaw: (...call) => mail().sendRaw(...call), sendBuilt: (...call) => mail().sendBuilt(...call) }, log });
  const runtime = createRuntime({
    services: { ...bindings, sendEmail }, egress: egressOf(settings), ...processesOf(settings), client,
    limits: { ...limitsOf(settings), ...limits }, ids, log, clock,
  });
  lifecycle.onStop("workers", () => runtime.close(), { timeoutMs: 15_000 });
  return {
    runtime,
    sendMailWith(given) {
      port = given;
    },
  };
}

function reject(): never {
  throw new Error("a worker runs before there is mail");
}
