import type { UploadedModule } from "../../../workers/index.ts";
import { workerRouteErrors } from "./errors.ts";

type Kind = UploadedModule["kind"];

/** The module kind of each content type. */
const KINDS: Record<string, Kind> = {
  "application/javascript+module": "esm",
  "text/javascript+module": "esm",
  "application/javascript": "cjs",
  "text/javascript": "cjs",
  "application/wasm": "wasm",
  "application/octet-stream": "data",
  "application/json": "json",
  "text/plain": "text",
  "application/source-map": "source-map",
};

/** Kinds of generic content types. A main module may have any of these kinds, because it is always JavaScript. */
const AMBIGUOUS_KINDS: ReadonlySet<Kind> = new Set<Kind>(["esm", "cjs", "text", "data"]);

const CONTENT_TYPES = { esm: "application/javascript+module", cjs: "application/javascript" };

/** Media type in lower case, without parameters. */
export const bareMediaType = (contentType: string): string => contentType.split(";", 1)[0]!.trim().toLowerCase();

/**
 * Reads a part as a module; `main`: the kind that a main module has in its format. Throws badModule for an unsupported
 * kind and for text that is not UTF-8.
 */
export function readModule(name: string, contentType: string, bytes: Uint8Array, main?: "esm" | "cjs"): UploadedModule {
  const type = bareMediaType(contentType) || "text/plain";
  if (type.startsWith("text/x-python"))
    throw workerRouteErrors.badModule({
      name,
      reason: "Python workers are not supported by this server",
      fix: "Write the worker in JavaScript or TypeScript.",
    });
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type]! : undefined;
  if (kind === undefined)
    throw workerRouteErrors.badModule({
      name,
      reason: `${JSON.stringify(type)} is not a module type`,
      fix: `Supported content types: ${Object.keys(KINDS).join(", ")}.`,
    });
  if (main === undefined) return moduleOf(name, kind, bytes, type);
  if (AMBIGUOUS_KINDS.has(kind)) return moduleOf(name, main, bytes, CONTENT_TYPES[main]);
  throw workerRouteErrors.badModule({
    name,
    reason: `it is the main module, but its content type is ${type}`,
    fix: `Send it as ${CONTENT_TYPES[main]}.`,
  });
}

function moduleOf(name: string, kind: Kind, bytes: Uint8Array, contentType: string): UploadedModule {
  if (kind === "data" || kind === "wasm") return { name, kind, content: bytes, contentType };
  return { name, kind, content: textOf(name, bytes), contentType };
}

function textOf(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw workerRouteErrors.badModule(
      { name, reason: "its text is not UTF-8", fix: "Save it as UTF-8, or send it as application/octet-stream." },
      { cause },
    );
  }
}
