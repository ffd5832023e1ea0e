import { utcDay } from "../../../kernel/index.ts";
import {
  type ConfigDocument,
  type Path,
  type Problem,
  errorAt,
  fieldName,
  isEmpty,
  valueAt,
  warningAt,
} from "../../../kernel/config/index.ts";
import type { Purpose } from "./bindings.ts";
import { NEWEST_COMPATIBILITY_DATE, classifyCompatibilityDate } from "./compatibility.ts";
import type { EnvironmentView } from "./environment.ts";
import { checkAssetsConfig } from "./assets.ts";
import { checkRoutes } from "./routes.ts";
import { checkDurableObjects } from "./durable-objects.ts";
import { checkUnsupported } from "./missing-bindings.ts";

/**
 * Checks across fields. They read the unvalidated value, so that they run in addition to the schema and not only after
 * it: in a file with both a wrong type and a duplicate name, both errors are reported.
 */
export function checkAcrossFields(
  document: ConfigDocument,
  view: EnvironmentView,
  { now, purpose, allowMissing }: { now: number; purpose: Purpose; allowMissing: boolean },
): Problem[] {
  return [
    ...checkRequired(document, view, now),
    ...checkAssetsConfig(document, view),
    ...checkDate(document, view, now),
    ...checkUnsupported(document, view, { purpose, allowMissing }),
    ...checkSendEmail(document),
    ...checkRoutes(document, view),
    ...checkUniqueNames(document, view),
    ...checkConsumers(document, view),
    ...checkDurableObjects(document, view, purpose),
    ...checkWithoutEffect(document, view, purpose),
  ];
}

function checkRequired(document: ConfigDocument, view: EnvironmentView, now: number): Problem[] {
  const examples = { name: "my-worker", main: "src/index.ts", compatibility_date: utcDay(now) };
  return Object.entries(examples).flatMap(([field, example]): Problem[] => {
    if (view.get(field) !== undefined || (field === "main" && view.get("assets") !== undefined)) return [];
    const fix = document.syntax === "toml" ? `add ${field} = "${example}"` : `add "${field}": "${example}"`;
    return [errorAt(document.locate(view.path), `"${field}" is missing`, fix)];
  });
}

function checkDate(document: ConfigDocument, view: EnvironmentView, now: number): Problem[] {
  const date = view.get("compatibility_date");
  if (typeof date !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(date)) return [];
  const place = document.locate(view.pathOf("compatibility_date"));
  const field = '"compatibility_date"';
  const verdict = classifyCompatibilityDate(date, now);
  switch (verdict.kind) {
    case "good":
      return [];
    case "no-date":
      return [errorAt(place, `${field} is not a valid date: "${date}"`, `for example "${utcDay(now)}"`)];
    case "future":
      return [
        errorAt(
          place,
          `${field} is in the future: "${date}"; today is ${verdict.today}`,
          `write "${verdict.today}" or an earlier date`,
        ),
      ];
    case "newer":
      return [
        warningAt(
          place,
          `${field} is "${date}", but the workerd installed here supports dates up to ${NEWEST_COMPATIBILITY_DATE}; falling back to "${verdict.use}"`,
        ),
      ];
  }
}

/** Checks every environment, because the rule applies to all of them. */
function checkSendEmail(document: ConfigDocument): Problem[] {
  const environments = Object.keys((valueAt(document.value, ["env"]) as object | undefined) ?? {});
  const lists: Path[] = [["send_email"], ...environments.map((name) => ["env", name, "send_email"])];
  return lists.flatMap((list) =>
    entriesAt(document, list).flatMap(({ path, entry }): Problem[] => {
      if (entry.destination_address === undefined || entry.allowed_destination_addresses === undefined) return [];
      const message = `"${fieldName(path)}" bindings should have either a "destination_address" or "allowed_destination_addresses" field, but not both.`;
      const fix = `use "destination_address" for one recipient, "allowed_destination_addresses" for several`;
      return [errorAt(document.locate([...path, "allowed_destination_addresses"], "name"), message, fix)];
    }),
  );
}

const NAMED_LISTS: [list: string[], key: string][] = [
  [["send_email"], "name"],
  [["ratelimits"], "name"],
  [["unsafe", "bindings"], "name"],
  [["services"], "binding"],
  [["secrets_store_secrets"], "binding"],
  [["durable_objects", "bindings"], "name"],
  [["analytics_engine_datasets"], "binding"],
  [["kv_namespaces"], "binding"],
  [["r2_buckets"], "binding"],
  [["d1_databases"], "binding"],
  [["queues", "producers"], "binding"],
];

/** Fields that declare a single binding, named by `binding`. */
const SINGLE_BINDINGS = ["stream", "assets", "version_metadata", "ai"];

function checkUniqueNames(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const places = bindingPlaces(document, view);
  return places.flatMap(({ name, path }, i): Problem[] => {
    const first = places.slice(0, i).find((other) => other.name === name);
    if (first === undefined) return [];
    const message = `duplicate name "${name}": "${fieldName(first.path)}" on line ${document.locate(first.path).line} already uses it`;
    return [
      errorAt(
        document.locate(path),
        message,
        "give every variable and binding a unique name: the code reads them all from env",
      ),
    ];
  });
}

function checkConsumers(document: ConfigDocument, view: EnvironmentView): Problem[] {
  const consumers = [...view.pathOf("queues"), "consumers"];
  const list = entriesAt(document, consumers);
  // Only a worker with assets may omit `main`; without assets, the missing `main` is reported elsewhere.
  if (list.length > 0 && view.get("main") === undefined && view.get("assets") !== undefined)
    return [
      errorAt(
        document.locate(consumers, "name"),
        `"queues.consumers" is set, but there is no "main"`,
        'remove it, or set "main" to the entry file of the worker',
      ),
    ];
  return list.flatMap(({ path, entry: { queue, dead_letter_queue: deadLetterQueue } }, i): Problem[] => {
    if (typeof queue !== "string") return [];
    const isDuplicate = list.findIndex(({ entry }) => entry.queue === queue) < i;
    return [
      ...(isDuplicate
        ? [errorAt(document.locate([...path, "queue"]), `the queue "${queue}" is consumed twice`, "remove one of them")]
        : []),
      ...(deadLetterQueue === queue
        ? [
            errorAt(
              document.locate([...path, "dead_letter_queue"]),
              `the dead letter queue of "${queue}" is the queue itself`,
              "specify a different queue",
            ),
          ]
        : []),
    ];
  });
}

interface NamePlace {
  name: string;
  kind: "variable" | "binding";
  path: Path;
}

/** Returns every variable and binding with the position of its name, variables first. */
export function bindingPlaces(document: ConfigDocument, view: EnvironmentView): NamePlace[] {
  const vars = view.get("vars");
  const variablePlaces = typeof vars === "object" && vars !== null && !Array.isArray(vars) ? Object.keys(vars) : [];
  const listPlaces = NAMED_LISTS.flatMap(([[field, ...inner], key]) =>
    entriesAt(document, [...view.pathOf(field!), ...inner]).flatMap(({ path, entry }): NamePlace[] => {
      const name = entry[key];
      return typeof name === "string" ? [{ name, kind: "binding", path: [...path, key] }] : [];
    }),
  );
  const singlePlaces = SINGLE_BINDINGS.flatMap((field): NamePlace[] => {
    const path = [...view.pathOf(field), "binding"];
    const name: unknown = valueAt(document.value, path);
    return typeof name === "string" ? [{ name, kind: "binding", path }] : [];
  });
  return [
    ...variablePlaces.map((name): NamePlace => ({ name, kind: "variable", path: [...view.pathOf("vars"), name] })),
    ...listPlaces,
    ...singlePlaces,
  ];
}

function entriesAt(document: ConfigDocument, list: Path): { path: Path; entry: Record<string, unknown> }[] {
  const value = valueAt(document.value, list);
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown, i) =>
    typeof entry === "object" && entry !== null
      ? [{ path: [...list, i], entry: entry as Record<string, unknown> }]
      : [],
  );
}

/** Fields that have an effect elsewhere but none here; without a warning, a user could lose hours. */
function checkWithoutEffect(document: ConfigDocument, view: EnvironmentView, purpose: Purpose): Problem[] {
  const fieldAt = (field: string, ...inner: string[]) => ({
    path: [...view.pathOf(field), ...inner],
    value: valueAt(document.value, [...view.pathOf(field), ...inner]),
  });
  const fields = [
    ...(purpose === "deploy"
      ? []
      : [
          {
            ...fieldAt("triggers", "crons"),
            message: "cron triggers do not run on schedule during development",
            fix: "run one with a request to /cdn-cgi/handler/scheduled; a deployed worker runs on schedule",
          },
        ]),
    {
      ...fieldAt("streaming_tail_consumers"),
      message: '"streaming_tail_consumers" has no effect: streaming tail workers are not supported',
      fix: 'use "tail_consumers", which receive the same data after each invocation',
    },
  ];
  const usedFields = fields.filter(({ value }) => value !== undefined && !isEmpty(value));
  return usedFields.map(({ path, message, fix }) => warningAt(document.locate(path, "name"), message, fix));
}
