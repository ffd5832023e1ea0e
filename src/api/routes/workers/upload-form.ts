import type { Upload, UploadedModule } from "../../../workers/index.ts";
import { readAssetFields, hasAssets } from "./asset-fields.ts";
import { workerRouteErrors } from "./errors.ts";
import { isPartOf, partOf } from "./form-part.ts";
import { bareMediaType, readModule } from "./modules.ts";
import { readUploadMetadata, settingsPartOf, versionPartOf, type UploadMetadata } from "./metadata.ts";

const METADATA = "metadata";
/** The SDK sends modules under this name, with or without an index; wrangler and curl use one part name per module. */
const FILES_FIELD_PATTERN = /^files(?:\[(.*)\])?$/s;

/** The main part of the worker. */
export interface Main {
  name: string;
  format: Upload["format"];
}

const MAIN_KIND = { modules: "esm", "service-worker": "cjs" } as const;

export interface UploadOptions {
  /** Set by `bindings_inherit=strict`. */
  inheritStrictly?: boolean;
  /** For a form whose main module is specified in a request header. */
  main?: Main;
}

/**
 * Modules and metadata of an upload form. Throws workerRouteErrors. Does not check module contents or binding targets.
 */
export async function readUploadForm(
  form: FormData,
  { inheritStrictly = false, main: givenMain }: UploadOptions = {},
): Promise<Upload> {
  const sentMetadata = await partOf(form, METADATA);
  // A form whose main module is specified in a header needs no metadata.
  if (sentMetadata === undefined && givenMain === undefined)
    throw workerRouteErrors.metadataMissing({ part: METADATA });
  const metadata = readUploadMetadata(sentMetadata ?? {});
  const main = givenMain ?? mainOf(metadata);
  const parts = await modulesOf(form, main);
  const { bindings, modules } =
    main.format === "modules" ? { bindings: metadata.bindings ?? [], modules: parts } : withBlobs(metadata, parts);
  const versionPart = versionPartOf({ ...metadata, bindings }, { part: METADATA });
  if (main.format === "service-worker") rejectStrayModules(modules, main.name);
  return {
    format: main.format,
    main: main.name,
    modules,
    inheritStrictly,
    ...versionPart,
    ...readAssetFields(metadata, METADATA),
    settings: settingsPartOf(metadata),
  };
}

/** Reads a script that is the whole body: service-worker format, or a module if the content type says so. */
export function readScriptBody(bytes: Uint8Array, contentType: string): Upload {
  const isModule = bareMediaType(contentType) === "application/javascript+module";
  const main = isModule ? "worker.js" : "script";
  const module = readModule(main, contentType, bytes, isModule ? "esm" : "cjs");
  return {
    format: isModule ? "modules" : "service-worker",
    main,
    modules: [module],
    bindings: [],
    keepBindings: [],
    inheritStrictly: false,
    compatibilityFlags: [],
  };
}

export const isScriptType = (contentType: string): boolean =>
  /^(application|text)\/javascript(\+module)?$/.test(bareMediaType(contentType));

function mainOf(metadata: UploadMetadata): Main {
  const { main_module, body_part } = metadata;
  if (typeof main_module === "string" && typeof body_part === "string") {
    throw workerRouteErrors.badMetadata({
      part: METADATA,
      reason: "it has both a main_module and a body_part",
      fix: "Use main_module for ES modules, or body_part for a script in service-worker format.",
    });
  }
  if (main_module) return { name: main_module, format: "modules" };
  if (body_part) return { name: body_part, format: "service-worker" };
  // A worker that consists only of static assets has no modules.
  if (hasAssets(metadata)) return { name: "", format: "modules" };
  throw workerRouteErrors.mainUnnamed();
}

async function modulesOf(form: FormData, main: Main): Promise<UploadedModule[]> {
  const modules: UploadedModule[] = [];
  for (const [part, content] of form) {
    if (isPartOf(part, METADATA)) continue;
    const isFile = typeof content === "object";
    const name = moduleName(part, isFile ? content.name : "");
    const bytes = isFile ? new Uint8Array(await content.arrayBuffer()) : Buffer.from(content);
    modules.push(
      readModule(name, isFile ? content.type : "", bytes, name === main.name ? MAIN_KIND[main.format] : undefined),
    );
  }
  return modules;
}

function moduleName(part: string, file: string): string {
  const filesMatch = FILES_FIELD_PATTERN.exec(part);
  if (filesMatch === null) return part;
  const fileKey = filesMatch[1] ?? "";
  return fileKey === "" || (/^\d+$/.test(fileKey) && file !== "") ? file || part : fileKey;
}

/**
 * A service-worker script has no modules: clients send imported text files as parts, with a `text_blob` binding that
 * specifies the part. They become text variables.
 */
function withBlobs(
  metadata: UploadMetadata,
  modules: UploadedModule[],
): { bindings: NonNullable<UploadMetadata["bindings"]>; modules: UploadedModule[] } {
  const usedParts = new Set<unknown>();
  const bindings = (metadata.bindings ?? []).map((binding) => {
    if (binding.type !== "text_blob") return binding;
    const part = modules.find(({ name }) => name === binding.part);
    if (part === undefined || typeof part.content !== "string")
      throw workerRouteErrors.badBinding({ name: binding.name, type: binding.type, field: "part" });
    usedParts.add(part);
    return { name: binding.name, type: "plain_text", text: part.content };
  });
  return { bindings, modules: modules.filter((module) => !usedParts.has(module)) };
}

/** A missing main part is the more important problem and is reported elsewhere. */
function rejectStrayModules(modules: UploadedModule[], main: string): void {
  const stray = modules.find(({ name, kind }) => name !== main && kind !== "source-map");
  if (stray === undefined || modules.every(({ name }) => name !== main)) return;
  throw workerRouteErrors.badModule({
    name: stray.name,
    reason: "a script in service-worker format cannot have additional modules",
    fix: "Export a default handler (ES modules format), or bundle the script into one file.",
  });
}
