import { type ConfigDocument, type Problem, errorAt, valueAt, warningAt } from "../../../kernel/config/index.ts";
import type { Purpose } from "./bindings.ts";
import type { EnvironmentView } from "./environment.ts";

/** Checks that involve several of the fields `durable_objects`, `migrations` and `exports`. */
export function checkDurableObjects(document: ConfigDocument, view: EnvironmentView, purpose: Purpose): Problem[] {
  return [
    ...checkTags(document, view),
    ...checkDeclaredExports(document, view),
    ...(purpose === "dev" ? checkClasses(document, view) : []),
  ];
}

function checkTags(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const tags = asList(view.get("migrations")).map((entry) => valueAt(entry, ["tag"]));
  return tags.flatMap((tag, i): Problem[] => {
    if (typeof tag !== "string" || tags.indexOf(tag) === i) return [];
    return [
      errorAt(
        document.locate([...view.pathOf("migrations"), i, "tag"]),
        `two entries in "migrations" have the tag "${tag}"`,
        "give each entry a unique tag, and do not change entries that have been deployed",
      ),
    ];
  });
}

/** Without a migration for a bound class, a deploy fails; in development, its objects have no SQL storage. */
function checkClasses(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const migrations = asList(view.get("migrations"));
  const classesIn = (field: string) => migrations.flatMap((entry) => asList(valueAt(entry, [field])));
  const createdClasses = new Set([
    ...classesIn("new_sqlite_classes"),
    ...classesIn("new_classes"),
    ...classesIn("renamed_classes").map((rename) => valueAt(rename, ["to"])),
  ]);
  return asList(valueAt(view.get("durable_objects"), ["bindings"])).flatMap((entry, i): Problem[] => {
    const className = valueAt(entry, ["class_name"]);
    const script = valueAt(entry, ["script_name"]);
    if (typeof className !== "string" || (script !== undefined && script !== view.get("name"))) return [];
    if (createdClasses.has(className)) return [];
    return [
      warningAt(
        document.locate([...view.pathOf("durable_objects"), "bindings", i, "class_name"]),
        `no entry in "migrations" creates the class "${className}"`,
        `add to "migrations": { "tag": "v1", "new_sqlite_classes": ["${className}"] }`,
      ),
    ];
  });
}

/** Rejects the declarative form of migrations. */
function checkDeclaredExports(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const exportsField = view.get("exports");
  if (typeof exportsField !== "object" || exportsField === null) return [];
  return Object.entries(exportsField).flatMap(([name, entry]): Problem[] => {
    if (valueAt(entry, ["type"]) !== "durable-object") return [];
    return [
      errorAt(
        document.locate([...view.pathOf("exports"), name], "name"),
        `"exports" declares the Durable Object class "${name}", but reelpost does not support such declarations`,
        'declare the class with "new_sqlite_classes" in "migrations"',
      ),
    ];
  });
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
