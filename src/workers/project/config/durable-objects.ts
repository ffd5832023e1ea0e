import { type ConfigDocument, type Problem, errorAt, valueAt, warningAt } from "../../../kernel/config/index.ts";
import type { Purpose } from "./bindings.ts";
import type { EnvironmentView } from "./environment.ts";

/** Checks of `durable_objects`, `migrations` and `exports` that concern several fields. */
export function checkDurableObjects(document: ConfigDocument, view: EnvironmentView, purpose: Purpose): Problem[] {
  return [
    ...checkTags(document, view),
    ...checkDeclaredExports(document, view),
    ...(purpose === "dev" ? checkClasses(document, view) : []),
  ];
}

function checkTags(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const tags = listAt(view.get("migrations")).map((entry) => valueAt(entry, ["tag"]));
  return tags.flatMap((tag, i): Problem[] => {
    if (typeof tag !== "string" || tags.indexOf(tag) === i) return [];
    return [
      errorAt(
        document.locate([...view.pathOf("migrations"), i, "tag"]),
        `two entries of "migrations" have the tag "${tag}"`,
        "give each entry a tag of its own; entries that were deployed must not change",
      ),
    ];
  });
}

/** Without a migration, a deploy fails, and in development the objects have no SQL storage. */
function checkClasses(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const migrations = listAt(view.get("migrations"));
  const named = (field: string) => migrations.flatMap((entry) => listAt(valueAt(entry, [field])));
  const known = new Set([
    ...named("new_sqlite_classes"),
    ...named("new_classes"),
    ...named("renamed_classes").map((renamed) => valueAt(renamed, ["to"])),
  ]);
  return listAt(valueAt(view.get("durable_objects"), ["bindings"])).flatMap((entry, i): Problem[] => {
    const className = valueAt(entry, ["class_name"]);
    const script = valueAt(entry, ["script_name"]);
    if (typeof className !== "string" || (script !== undefined && script !== view.get("name"))) return [];
    if (known.has(className)) return [];
    return [
      warningAt(
        document.locate([...view.pathOf("durable_objects"), "bindings", i, "class_name"]),
        `no entry of "migrations" creates the class "${className}"`,
        `add to "migrations": { "tag": "v1", "new_sqlite_classes": ["${className}"] }`,
      ),
    ];
  });
}

/** The declarative form of migrations. */
function checkDeclaredExports(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const declared = view.get("exports");
  if (typeof declared !== "object" || declared === null) return [];
  return Object.entries(declared).flatMap(([name, entry]): Problem[] => {
    if (valueAt(entry, ["type"]) !== "durable-object") return [];
    return [
      errorAt(
        document.locate([...view.pathOf("exports"), name], "name"),
        `"exports" declares the Durable Object class "${name}", which reelpost does not support`,
        'declare it with "new_sqlite_classes" in "migrations"',
      ),
    ];
  });
}

const listAt = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
