import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { sendError } from "../../kernel/design/index.ts";
import { UserError, messageOf, randomIds, silentLog, systemClock, type Clock, type Log } from "../../kernel/index.ts";
import type { Db, Events, ObjectStore, Secrets } from "../../store/index.ts";
import { createAssets, type Assets } from "../assets/store/assets.ts";
import { createWorkerCalls } from "../bindings/services/runtime-calls.ts";
import { createScriptObjects, type ScriptObjectsStore } from "../objects/script-objects.ts";
import { workerErrors } from "../errors.ts";
import { NOT_STARTED } from "../runtime/pool.ts";
import type { InvocationOutcome, WorkerRuntime } from "../runtime/port.ts";
import { DEPLOYMENTS_TOPIC } from "../scripts/deploy.ts";
import type { LiveVersions } from "../scripts/live-versions.ts";
import type { LiveWorkers, ScriptRef } from "../scripts/port.ts";
import { versionKey, loadWorker } from "../scripts/worker.ts";
import { DEFAULT_LIVE_LIMITS, type LiveLimits } from "./limits.ts";
import { selectVersion, type ScriptRoute } from "./select-version.ts";
import { createLoadedVersions, type LoadedVersion } from "./loaded-versions.ts";
import { createScriptRoutes } from "./routes.ts";

interface WorkerStarter {
  /** Starts the process of a worker. Throws scriptMissing. */
  wake(ref: ScriptRef): Promise<void>;
}

export interface LiveOptions {
  db: Db;
  objects: ObjectStore;
  secrets: Secrets;
  /** Defaults to assets in the same stores. */
  assets?: Assets;
  /** Default: Durable Objects in the same database. */
  durableObjects?: Pick<ScriptObjectsStore, "resolveVersion">;
  events: Events;
  runtime: WorkerRuntime;
  clock?: Clock;
  log?: Log;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random?: () => number;
  limits?: Partial<LiveLimits>;
}

const IDLE_CHECK_INTERVAL_MS = 30_000;

/**
 * Runs the deployed versions. A version is loaded on first use; deploys by other processes are reported through
 * `events`.
 */
export function createLiveWorkers({
  db,
  objects,
  secrets,
  events,
  runtime,
  clock = systemClock,
  assets = createAssets({ db, objects, secrets, clock, ids: randomIds }),
  log = silentLog,
  durableObjects = createScriptObjects({ db, ids: randomIds, log, storage: undefined }),
  random = Math.random,
  limits,
}: LiveOptions): LiveWorkers & LiveVersions & WorkerStarter {
  const liveLimits = { ...DEFAULT_LIVE_LIMITS, ...limits };
  const routes = createScriptRoutes({ db, clock, limit: liveLimits.routes });
  const loadedVersions = createLoadedVersions({
    runtime,
    load: (id) => loadWorker(id, { db, objects, secrets, assets, durableObjects }),
    limits: liveLimits,
    clock,
    log,
  });
  const timer = setInterval(
    () => loadedVersions.unloadIdle(),
    Math.min(IDLE_CHECK_INTERVAL_MS, liveLimits.restMs),
  ).unref();
  /** For each script: the running refresh, and whether another must follow. */
  const refreshStates = new Map<string, { again: boolean; done: Promise<void> }>();

  /**
   * Nothing may run between reading the route and entering the version, so that a version that was just picked is not
   * unloaded.
   */
  async function enter(ref: ScriptRef, headers: IncomingHttpHeaders): Promise<LoadedVersion> {
    const route = routes.known(ref) ?? (await routes.load(ref));
    if (route === undefined) throw workerErrors.scriptMissing({ script: ref.script });
    const versionId = selectVersion(ref.script, route, headers, random);
    const loadedVersion = loadedVersions.acquire({
      key: keyOf(route, versionId),
      versionId,
      scriptId: route.scriptId,
    });
    try {
      await loadedVersion.ready;
      return loadedVersion;
    } catch (err) {
      loadedVersions.release(loadedVersion);
      throw err;
    }
  }

  function toFailure(err: unknown, ref: ScriptRef): { outcome: InvocationOutcome; status: number } {
    const isWorkerError = err instanceof UserError && err.domain === "workers";
    const isScriptMissing = isWorkerError && err.kind === "scriptMissing";
    if (!isScriptMissing)
      log.error(
        { err, script: ref.script, account: ref.account },
        `workers: failed to run a worker: ${messageOf(err)}`,
      );
    // Internal errors are hidden from the client.
    const message = isWorkerError ? err.message : "The Worker could not be run.";
    return {
      outcome: { outcome: "exception", exception: { name: "Error", message } },
      status: isScriptMissing ? 404 : 503,
    };
  }

  /** Looks up the deployment again until nothing has changed during a lookup. */
  function refresh(scriptId: string): Promise<void> {
    routes.forget(scriptId);
    const runningRefresh = refreshStates.get(scriptId);
    if (runningRefresh !== undefined) {
      runningRefresh.again = true;
      return runningRefresh.done;
    }
    const state = { again: true, done: Promise.resolve() };
    refreshStates.set(scriptId, state);
    state.done = (async () => {
      try {
        while (state.again) {
          state.again = false;
          const route = await routes.current(scriptId);
          if (!state.again) loadedVersions.retire(scriptId, keysOf(route));
        }
      } finally {
        refreshStates.delete(scriptId);
      }
    })();
    return state.done;
  }

  async function refreshAll() {
    routes.forgetAll();
    for (const scriptId of loadedVersions.scripts()) await refresh(scriptId);
  }

  const unsubscribe = events.subscribe(DEPLOYMENTS_TOPIC, (id) => {
    (id === "" ? refreshAll() : refresh(id)).catch((err: unknown) =>
      log.warn({ err, scriptId: id }, "workers: failed to look up deployments; the next request will retry"),
    );
  });

  return {
    async email(ref, mail, actions) {
      try {
        const loadedVersion = await enter(ref, {});
        return await runtime
          .email(loadedVersion.key, mail, actions)
          .finally(() => loadedVersions.release(loadedVersion));
      } catch (err) {
        return { ...toFailure(err, ref).outcome, ended: Promise.resolve() };
      }
    },
    async fetch(ref, request, response) {
      try {
        const loadedVersion = await enter(ref, request.headers);
        return await runtime
          .fetch(loadedVersion.key, request, response)
          .finally(() => loadedVersions.release(loadedVersion));
      } catch (err) {
        const { status, outcome } = toFailure(err, ref);
        answer(request, response, status, outcome.exception!.message);
        return outcome;
      }
    },
    upgrade(ref, request, socket, head) {
      socket.on("error", () => socket.destroy());
      enter(ref, request.headers).then(
        (loadedVersion) => {
          const releaseVersion = loadedVersions.releaseToConnection(loadedVersion);
          if (socket.destroyed) return releaseVersion();
          socket.once("close", releaseVersion);
          runtime.upgrade(loadedVersion.key, request, socket, head);
        },
        (err: unknown) =>
          socket.end(
            `HTTP/1.1 ${toFailure(err, ref).status === 404 ? "404 Not Found" : "503 Service Unavailable"}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
          ),
      );
    },
    async scheduled(ref, event) {
      try {
        const loadedVersion = await enter(ref, {});
        return await runtime.scheduled(loadedVersion.key, event).finally(() => loadedVersions.release(loadedVersion));
      } catch (err) {
        return toFailure(err, ref).outcome;
      }
    },
    async queue(ref, batch) {
      try {
        const loadedVersion = await enter(ref, {});
        return await runtime.queue(loadedVersion.key, batch).finally(() => loadedVersions.release(loadedVersion));
      } catch (err) {
        return { ...toFailure(err, ref).outcome, ...NOT_STARTED };
      }
    },
    async tail(ref, batch) {
      try {
        const loadedVersion = await enter(ref, {});
        return await runtime.tail(loadedVersion.key, batch).finally(() => loadedVersions.release(loadedVersion));
      } catch (err) {
        return toFailure(err, ref).outcome;
      }
    },
    async wake(ref) {
      const loadedVersion = await enter(ref, {});
      await runtime.readExports(loadedVersion.key).finally(() => loadedVersions.release(loadedVersion));
    },
    calls: createWorkerCalls(
      async ({ account = "", worker, workerId, entrypoint }) => {
        const ref = { account, script: worker, ...(workerId !== undefined && { id: workerId }) };
        const loadedVersion = await enter(ref, {});
        try {
          return {
            calls: await runtime.entrypoint(loadedVersion.key, entrypoint),
            release: () => loadedVersions.release(loadedVersion),
            releaseToConnection: (onRetired) => loadedVersions.releaseToConnection(loadedVersion, onRetired),
          };
        } catch (err) {
          loadedVersions.release(loadedVersion);
          throw err;
        }
      },
      { log },
    ),
    async startTrial(worker) {
      const scriptId = worker.key!.split("/")[1]!;
      const began = performance.now();
      // A trial does not store the Durable Objects of a version, so the trial process cannot become the version's
      // process.
      const { objects } = worker;
      const key = objects === undefined ? worker.key! : `${worker.key!}/trial`;
      const trial = await loadedVersions.startTrial({ ...worker, key }, scriptId);
      try {
        const startupMs = Math.round(performance.now() - began);
        return {
          startupMs,
          ...(await runtime.readExports(key)),
          keep: () => trial.settle(objects === undefined),
          drop: () => trial.settle(false),
        };
      } catch (err) {
        trial.settle(false);
        throw err;
      }
    },
    refresh,
    async close() {
      clearInterval(timer);
      unsubscribe();
      await Promise.allSettled([...refreshStates.values()].map(({ done }) => done));
    },
  };
}

const CHECK_ADDRESS = "Check the address.";
const RETRY_LATER = "Reload the page in a minute.";

const keyOf = ({ account, scriptId, revision }: ScriptRoute, versionId: string) =>
  versionKey({ account, scriptId, id: versionId }, revision);

const keysOf = (route: ScriptRoute | undefined) =>
  new Set(route?.versions.map(({ versionId }) => keyOf(route, versionId)));

/** Sends a response. Discards the request body, so that the connection remains usable. */
function answer(request: IncomingMessage, response: ServerResponse, status: number, text: string) {
  request.resume();
  if (response.headersSent) return void response.destroy();
  sendError(request, response, { status, text, advice: status === 404 ? CHECK_ADDRESS : RETRY_LATER });
}
