import {
  type ConfigDocument,
  type Problem,
  errorAt,
  isEmpty,
  valueAt,
  warningAt,
} from "../../../kernel/config/index.ts";
import type { Purpose } from "./bindings.ts";
import type { EnvironmentView } from "./environment.ts";
import { UNSUPPORTED_BINDINGS } from "./schema.ts";

/** A configured binding to a product that this program does not have: the worker reads undefined from env. */
export interface MissingBinding {
  name: string;
  /** For example "Vectorize". */
  product: string;
}

const OPTION = "--allow-missing-bindings";

/** In development, a warning, because the rest of the worker still works; in a deploy, an error unless allowed. */
export function checkUnsupported(
  document: ConfigDocument,
  view: EnvironmentView,
  { purpose, allowMissing }: { purpose: Purpose; allowMissing: boolean },
): Problem[] {
  const isAllowed = allowMissing || valueAt(document.value, ["reelpost", "missing_bindings"]) === "undefined";
  return unsupportedFields(view).map(({ field, product, names }): Problem => {
    const place = document.locate(view.pathOf(field), "name");
    const message = `"${field}": reelpost does not support ${product}`;
    const missingText =
      names.length === 0
        ? "it has no effect"
        : `${names.map((name) => `env.${name}`).join(", ")} ${names.length === 1 ? "is" : "are"} undefined`;
    if (isAllowed) return warningAt(place, `${message}: ${missingText}`);
    if (purpose === "dev")
      return warningAt(place, `${message}: ${missingText}`, `to deploy the worker, remove it or use ${OPTION}`);
    return errorAt(
      place,
      message,
      `remove it, or deploy without it: ${OPTION}, or "reelpost": { "missing_bindings": "undefined" }`,
    );
  });
}

/** Returns every unsupported binding of the environment. */
export const findMissingBindings = (view: EnvironmentView): MissingBinding[] =>
  unsupportedFields(view).flatMap(({ product, names }) => names.map((name) => ({ name, product })));

function unsupportedFields(view: EnvironmentView) {
  const fields = Object.entries(UNSUPPORTED_BINDINGS).map(([field, product]) => ({
    field,
    product,
    value: view.get(field),
  }));
  const unsafe = {
    field: "unsafe",
    product: "unsafe bindings and metadata other than rate limits",
    value: withoutRateLimits(view.get("unsafe")),
  };
  return [...fields, unsafe].flatMap(({ field, product, value }) =>
    value === undefined || value === null || isEmpty(value) ? [] : [{ field, product, names: namesIn(value) }],
  );
}

/** Returns the value of `unsafe` without the bindings of type `ratelimit`, which are supported. */
function withoutRateLimits(value: unknown): unknown {
  const bindings = valueAt(value, ["bindings"]);
  if (!Array.isArray(bindings)) return value;
  const others = bindings.filter((entry: unknown) => valueAt(entry, ["type"]) !== "ratelimit");
  return { ...(value as object), bindings: others };
}

/** Returns the names of bindings, from `binding`, or from `name` in the entries of a list. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value))
    return value.flatMap((entry: unknown) => {
      const name = valueAt(entry, ["binding"]) ?? valueAt(entry, ["name"]);
      return typeof name === "string" ? [name] : [];
    });
  if (typeof value !== "object" || value === null) return [];
  const { binding, ...rest } = value as Record<string, unknown>;
  return [
    ...(typeof binding === "string" ? [binding] : []),
    ...Object.values(rest).filter(Array.isArray).flatMap(namesIn),
  ];
}
