import { Paper } from "@mantine/core";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { Message } from "./queries.ts";

const TONES: Record<string, Tone> = {
  pass: "good",
  bestguesspass: "good",
  none: "neutral",
  neutral: "neutral",
  softfail: "warning",
  temperror: "warning",
  policy: "warning",
  fail: "bad",
  permerror: "bad",
};

/** Results of the checks of the sender (RFC 8601), each with its explanation. */
export function Authentication({ message: { authentication } }: { message: Message }) {
  if (authentication.length === 0) return null;
  return (
    <Section title="Authentication">
      <Paper p={0}>
        <ul className="rp-mail-rows" aria-label="Authentication results">
          {authentication.map(({ method, result, domain, selector, policy, explanation }, index) => (
            <li key={index}>
              <span className="rp-mail-method">
                <b>{method.toUpperCase()}</b> <StatusBadge tone={TONES[result] ?? "neutral"}>{result}</StatusBadge>
              </span>
              <div>
                {explanation}
                <div className="rp-dimmed rp-mono">
                  {[domain, selector !== null && `selector ${selector}`, policy !== null && `policy ${policy}`]
                    .filter(Boolean)
                    .join(", ")}
                </div>
              </div>
            </li>
          ))}
        </ul>
      </Paper>
    </Section>
  );
}
