import { CopyButton } from "./copy.tsx";
import { inSentence } from "./text.ts";

/** Preformatted text: source, headers, JSON, logs. `label` names it for screen readers. */
export function CodeView({
  label,
  text,
  maxHeight = "28rem",
  wrap = false,
  lineNumbers = false,
}: {
  label: string;
  text: string;
  maxHeight?: string;
  wrap?: boolean;
  lineNumbers?: boolean;
}) {
  const lines = lineNumbers ? text.split("\n").length : 0;
  return (
    <div className="rp-code">
      <div className="rp-code-copy">
        <CopyButton value={text} label={`Copy ${inSentence(label)}`} />
      </div>
      {/* Focusable, so that keyboard users can scroll it. */}
      <div className="rp-code-scroll" role="region" aria-label={label} tabIndex={0} style={{ maxHeight }}>
        {lineNumbers && (
          <pre className="rp-code-lines" aria-hidden="true">
            {Array.from({ length: lines }, (_, line) => line + 1).join("\n")}
          </pre>
        )}
        <pre className="rp-code-text" data-wrap={wrap}>
          {text}
        </pre>
      </div>
    </div>
  );
}
