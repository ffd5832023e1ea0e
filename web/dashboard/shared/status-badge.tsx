import type { ReactNode } from "react";

export type Tone = "good" | "warning" | "bad" | "info" | "neutral";

/** A state in one or two words. The tone is never the only sign: the text says the state. */
export function StatusBadge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="rp-badge" data-tone={tone}>
      {children}
    </span>
  );
}
