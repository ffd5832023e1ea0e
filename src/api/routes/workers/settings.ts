import { z } from "@hono/zod-openapi";
import type { Script, Scripts } from "../../../workers/index.ts";
import { respond, route, type Call, type Route } from "../../operation.ts";
import { uploaderOf } from "./author.ts";
import {
  ENVIRONMENT_PATH,
  accountAndScript,
  requireScript,
  requireService,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKERS,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { workerRouteErrors } from "./errors.ts";
import { parseJsonPart, partOf } from "./form-part.ts";
import { readSettingsPatch, settingsPartOf, versionPartOf, type SettingsPatch } from "./metadata.ts";
import { scriptSettingsShape, settingsShape, shownScriptSettings, shownSettings } from "./shapes.ts";

const PART = "settings";
/** Fields that create a version when changed. */
const OF_VERSION = ["bindings", "keep_bindings", "compatibility_date", "compatibility_flags", "limits"] as const;

/** Settings other than the code: bindings and similar fields create a new version; others apply to all versions. */
export function settingRoutes({ scripts }: WorkerRoutesDeps): Route[] {
  async function patchScript(script: Script, call: Call) {
    const patch = await readPatch(call);
    return respond(
      shownScriptSettings(await scripts.changeSettings(script.account, script.name, settingsPartOf(patch))),
    );
  }

  return [
    route(
      {
        id: "worker-script-get-settings",
        method: "get",
        path: `${SCRIPT}/settings`,
        summary: "Get Settings",
        ...WORKER_READ_OPTIONS,
        result: settingsShape,
      },
      async ({ params }) => respond(shownSettings(await requireScript(scripts, ...accountAndScript(params)))),
    ),

    route(
      {
        id: "worker-script-patch-settings",
        method: "patch",
        path: `${SCRIPT}/settings`,
        summary: "Patch Settings",
        ...WORKER_WRITE_OPTIONS,
        result: settingsShape,
      },
      async (call) => {
        const script = await requireScript(scripts, ...accountAndScript(call.params));
        await change(scripts, script, await readPatch(call), call);
        return respond(shownSettings(await requireScript(scripts, script.account, script.name)));
      },
    ),

    route(
      {
        id: "worker-script-settings-get-settings",
        method: "get",
        path: `${SCRIPT}/script-settings`,
        summary: "Get Script Settings",
        ...WORKER_READ_OPTIONS,
        result: scriptSettingsShape,
      },
      async ({ params }) => respond(shownScriptSettings(await requireScript(scripts, ...accountAndScript(params)))),
    ),
    route(
      {
        id: "worker-script-settings-patch-settings",
        method: "patch",
        path: `${SCRIPT}/script-settings`,
        summary: "Patch Script Settings",
        ...WORKER_WRITE_OPTIONS,
        result: scriptSettingsShape,
      },
      async (call) => patchScript(await requireScript(scripts, ...accountAndScript(call.params)), call),
    ),

    route(
      {
        id: "worker-script-environment-get-settings",
        method: "get",
        path: `${ENVIRONMENT_PATH}/settings`,
        summary: "Get Script Settings",
        ...WORKER_READ_OPTIONS,
        result: settingsShape,
      },
      async ({ params }) => respond(shownSettings(await requireService(scripts, params))),
    ),
    route(
      {
        id: "worker-script-environment-patch-settings",
        method: "patch",
        path: `${ENVIRONMENT_PATH}/settings`,
        summary: "Patch Script Settings",
        ...WORKER_WRITE_OPTIONS,
        result: settingsShape,
      },
      async (call) => {
        const script = await requireService(scripts, call.params);
        await change(scripts, script, await readPatch(call), call);
        return respond(shownSettings(await requireService(scripts, call.params)));
      },
    ),

    route(
      {
        id: "worker-script-fetch-usage-model",
        method: "get",
        path: `${SCRIPT}/usage-model`,
        summary: "Fetch Usage Model",
        ...WORKER_READ_OPTIONS,
        result: usageSchema,
      },
      async ({ params }) => respond(showUsage(await requireScript(scripts, ...accountAndScript(params)))),
    ),
    route(
      {
        id: "worker-script-update-usage-model",
        method: "put",
        path: `${SCRIPT}/usage-model`,
        summary: "Update Usage Model",
        ...WORKER_WRITE_OPTIONS,
        body: usageRequest,
        result: usageSchema,
      },
      async (call) => {
        const script = await requireScript(scripts, ...accountAndScript(call.params));
        const { usage_model, user_limits } = call.body;
        await change(scripts, script, { usage_model, ...(user_limits && { limits: user_limits }) }, call);
        return respond(showUsage(await requireScript(scripts, script.account, script.name)));
      },
    ),

    route(
      {
        id: "worker-account-settings-fetch-worker-account-settings",
        method: "get",
        path: `${WORKERS}/account-settings`,
        summary: "Fetch Worker Account Settings",
        ...WORKER_READ_OPTIONS,
        result: accountSchema,
      },
      async () => respond(ACCOUNT),
    ),
    route(
      {
        id: "worker-account-settings-create-worker-account-settings",
        method: "put",
        path: `${WORKERS}/account-settings`,
        summary: "Create Worker Account Settings",
        ...WORKER_WRITE_OPTIONS,
        body: accountSchema.partial(),
        result: accountSchema,
      },
      async ({ body }) => {
        const { default_usage_model = ACCOUNT.default_usage_model, green_compute = ACCOUNT.green_compute } = body;
        if (default_usage_model !== ACCOUNT.default_usage_model || green_compute)
          throw workerRouteErrors.notOffered({
            what: "Usage models and data center placement",
            fix: `The settings of every account are ${JSON.stringify(ACCOUNT)}.`,
          });
        return respond(ACCOUNT);
      },
    ),
  ];
}

const usageSchema = z.object({
  usage_model: z.string(),
  user_limits: z.object({ cpu_ms: z.number().int().nullable() }).nullable(),
});
const usageRequest = z.object({
  usage_model: z.enum(["standard", "bundled", "unbound"]).optional(),
  user_limits: z.object({ cpu_ms: z.number().int().positive().nullish() }).nullish(),
});
const showUsage = ({ usageModel, latest }: Script) => ({
  usage_model: usageModel,
  user_limits: latest?.limits?.cpuMs === undefined ? null : { cpu_ms: latest.limits.cpuMs },
});

const accountSchema = z.object({ default_usage_model: z.string(), green_compute: z.boolean() });
const ACCOUNT = { default_usage_model: "standard", green_compute: false };

async function change(
  scripts: Scripts,
  { account, name, latest }: Script,
  patch: SettingsPatch,
  call: Call,
): Promise<void> {
  const settings = settingsPartOf(patch);
  const changedVersionFields = OF_VERSION.filter((field) => patch[field] !== undefined && patch[field] !== null);
  if (changedVersionFields.length > 0) {
    const { bindings, keepBindings, compatibilityFlags, ...rest } = versionPartOf(patch, {
      part: PART,
      present: latest?.bindings ?? [],
    });
    await scripts.changeVersionSettings(
      account,
      name,
      {
        ...rest,
        ...(changedVersionFields.includes("bindings") && { bindings }),
        ...(changedVersionFields.includes("keep_bindings") && { keepBindings }),
        ...(changedVersionFields.includes("compatibility_flags") && { compatibilityFlags }),
      },
      uploaderOf(call),
    );
  }
  if (Object.keys(settings).length > 0) await scripts.changeSettings(account, name, settings);
}

/** Reads a form with a part `settings`, or JSON as the whole body. */
async function readPatch(call: Call): Promise<SettingsPatch> {
  if (!/^multipart\//i.test(call.request.headers.get("content-type") ?? ""))
    return readSettingsPatch(parseJsonPart(Buffer.from(await call.bytes()).toString(), "body"), "body");
  const sentPart = await partOf(await call.form(), PART);
  if (sentPart === undefined) throw workerRouteErrors.metadataMissing({ part: PART });
  return readSettingsPatch(sentPart);
}
