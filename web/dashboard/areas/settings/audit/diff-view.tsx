import { useMemo } from "react";
import { comparableJson, diffLines, type DiffLine } from "./diff.ts";

const SIGNS: Record<DiffLine["kind"], string> = { same: " ", removed: "−", added: "+" };
const LABELS: Record<DiffLine["kind"], string> = { same: "", removed: "Removed: ", added: "Added: " };

/** Two values as JSON, with the lines that differ marked. */
export function DiffView({ label, before, after }: { label: string; before: unknown; after: unknown }) {
  const lines = useMemo(() => diffLines(comparableJson(before), comparableJson(after)), [before, after]);
  return (
    <div className="rp-settings-diff" role="region" aria-label={label} tabIndex={0}>
      {lines.map(({ kind, text }, index) => (
        <div key={index} data-kind={kind}>
          <span aria-hidden="true">{SIGNS[kind]}</span>
          {kind !== "same" && <span className="rp-visually-hidden">{LABELS[kind]}</span>}
          <code>{text}</code>
        </div>
      ))}
    </div>
  );
}
