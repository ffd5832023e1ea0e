import type { Binding, WorkerModule, WorkerScript } from "../../workers/index.ts";
import type { Project } from "../../workers/project/index.ts";

/** The content type of the form part for each kind of module. */
const CONTENT_TYPES: Record<WorkerModule["kind"], string> = {
  esm: "application/javascript+module",
  cjs: "application/javascript",
  text: "text/plain",
  json: "application/json",
  data: "application/octet-stream",
  wasm: "application/wasm",
};

interface FormOptions {
  keepVars: boolean;
  message: string | undefined;
  /** The `assets` field of the upload metadata. */
  assets: object | undefined;
  /** The `migrations` field of the upload metadata. */
  migrations?: object | undefined;
}

/** Returns the multipart upload of the v4 API: `metadata`, then each module under its import name. */
export function uploadForm(
  project: Project,
  script: WorkerScript,
  bindings: readonly Binding[],
  { keepVars, message, assets, migrations }: FormOptions,
): FormData {
  const { observability, logpush } = project.deploy;
  const metadata = {
    ...mainOf(script),
    ...(assets !== undefined && { assets }),
    ...(migrations !== undefined && { migrations }),
    bindings,
    compatibility_date: script.compatibilityDate,
    compatibility_flags: script.compatibilityFlags,
    // Secrets on the server are not in any local file: without this setting, the upload would delete them.
    keep_bindings: ["secret_text", "secret_key", ...(keepVars ? ["plain_text", "json"] : [])],
    ...(project.limits?.cpuMs !== undefined && { limits: { cpu_ms: project.limits.cpuMs } }),
    ...(observability !== undefined && { observability }),
    ...(logpush !== undefined && { logpush }),
    // An empty list is sent too, so that a tail worker removed from the configuration receives nothing more.
    tail_consumers: project.tailConsumers.map((service) => ({ service })),
    ...(message !== undefined && { annotations: { "workers/message": message } }),
  };
  const form = new FormData();
  form.set("metadata", JSON.stringify(metadata));
  for (const { name, kind, content } of script.modules) {
    const type = script.format === "service-worker" && name === script.main ? CONTENT_TYPES.cjs : CONTENT_TYPES[kind];
    form.set(name, new File([content as string | Uint8Array<ArrayBuffer>], name, { type }));
  }
  if (script.sourceMap !== undefined)
    form.set(
      `${script.main}.map`,
      new File([script.sourceMap], `${script.main}.map`, { type: "application/source-map" }),
    );
  return form;
}

function mainOf({ format, main }: WorkerScript) {
  if (main === "") return {};
  return format === "modules" ? { main_module: main } : { body_part: main };
}
