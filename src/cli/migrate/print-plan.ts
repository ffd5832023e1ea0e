import type { Paint } from "../../kernel/paint.ts";
import type { MigrationPlan, PlannedItem, Report, RunProgress } from "../../migrate/index.ts";
import { oneLine } from "../../kernel/text.ts";
import { table } from "../print.ts";

const ACTIONS = ["new", "changed", "unchanged", "kept", "impossible"] as const;
/** Longer lists of the same kind are shortened; --json has all items. */
const MAX_LISTED = 20;

/** Returns a table of counts, then everything that needs attention. */
export function planLines({ items, keepsIds }: MigrationPlan, paint: Paint): string[] {
  if (items.length === 0) return ["The source is empty."];
  const kinds = [...new Set(items.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => {
    const ofKind = items.filter((item) => item.kind === kind);
    return [kind, ...ACTIONS.map((action) => ofKind.filter((item) => item.action === action).length || "")];
  });
  return [
    ...table(["", ...ACTIONS], rows, paint),
    ...(keepsIds
      ? []
      : ["", "IDs will change: the API token lacks the Account Settings Write permission on the operator's account."]),
    ...section("Cannot be imported", items, ({ action, reason }) => (action === "impossible" ? [reason!] : [])),
    ...section("Kept as they are on this server", items, ({ action, reason }) => (action === "kept" ? [reason!] : [])),
    ...section("Imported in part", items, ({ action, losses = [] }) =>
      action === "new" || action === "changed" ? losses : [],
    ),
  ];
}

function section(title: string, items: readonly PlannedItem[], textsOf: (item: PlannedItem) => string[]): string[] {
  const byKind = Map.groupBy(
    items.flatMap((item) => textsOf(item).map((text) => ({ item, text }))),
    ({ item, text }) => `${item.kind}: ${text}`,
  );
  if (byKind.size === 0) return [];
  const lines = [...byKind.values()].map((group) => {
    const [{ item, text }] = group as [(typeof group)[number]];
    const names = group.slice(0, MAX_LISTED).map((entry) => oneLine(entry.item.name, 60));
    const more = group.length > MAX_LISTED ? ` and ${group.length - MAX_LISTED} more` : "";
    return `  ${item.kind}: ${oneLine(text, 300)}\n    ${names.join(", ")}${more}`;
  });
  return ["", `${title}:`, ...lines];
}

export const hasWork = ({ items }: MigrationPlan): boolean => items.some(({ apply }) => apply !== undefined);

/** Returns the lines of the report: results, then the remaining manual work. */
export function reportLines({ imported, failed, warnings, followUp }: Report, paint: Paint): string[] {
  const counts = Object.entries(imported);
  const { secrets, credentials, dns } = followUp;
  return [
    ...(counts.length === 0 ? ["Nothing was imported."] : table(["imported", "count"], counts, paint)),
    ...listLines(
      "Failed; run the command again to retry",
      failed,
      ({ kind, name, reason }) => `${kind} ${name}: ${reason}`,
    ),
    ...listLines("Not imported", warnings, ({ kind, name, text }) => `${kind} ${name}: ${text}`),
    ...listLines("Secrets to enter", secrets, ({ worker, names }) =>
      names.map((name) => `reelpost secret put ${name} --name ${worker}`).join("\n"),
    ),
    ...listLines("New credentials, shown only once", credentials, ({ what, value }) => `${what}: ${value}`),
    ...dns.flatMap(({ zone, steps }) => [
      "",
      paint("bold", `DNS changes for ${zone}, in this order:`),
      ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ]),
  ];
}

/** Returns a heading and an indented line for each item; nothing if the list is empty. */
export const listLines = <Item>(title: string, items: readonly Item[], textOf: (item: Item) => string): string[] =>
  items.length === 0
    ? []
    : [
        "",
        `${title}:`,
        ...items.map(
          (item) =>
            `  ${textOf(item)
              .split("\n")
              .map((line) => oneLine(line, 4000))
              .join("\n  ")}`,
        ),
      ];

/** Items for --json, without their functions. */
export const planJson = ({ items, keepsIds }: MigrationPlan) => ({
  keepsIds,
  items: items.map(({ apply, ...item }) => ({ ...item, planned: apply !== undefined })),
});

export function positionText({ done, total, item, secondsLeft }: RunProgress): string {
  const left =
    secondsLeft === undefined
      ? ""
      : `, ${secondsLeft < 100 ? `${secondsLeft} s` : `${Math.ceil(secondsLeft / 60)} min`} left`;
  return `${done + 1} of ${total}${left}: ${item.kind} ${oneLine(item.name, 60)}`;
}
