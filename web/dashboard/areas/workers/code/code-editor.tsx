import { useEffect, useRef, useState } from "react";
import { ErrorState } from "../../../shared/error-state.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";

/** A module, highlighted; with `before`, its changes from that text. */
export function CodeViewer({ name, text, before }: { name: string; text: string; before?: string }) {
  const element = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"loading" | "shown" | { error: unknown }>("loading");
  useEffect(() => {
    const parent = element.current!;
    let isDisposed = false;
    let remove = () => {};
    import("./editor.ts")
      .then(({ showCode }) => showCode(parent, { name, text, ...(before !== undefined && { before }) }))
      .then(
        (removeView) => {
          if (isDisposed) return removeView();
          remove = removeView;
          setState("shown");
        },
        (error: unknown) => setState({ error }),
      );
    return () => {
      isDisposed = true;
      remove();
    };
  }, [name, text, before]);
  return (
    <>
      {state === "loading" && <LoadingState rows={8} label={`Loading ${name}`} />}
      {typeof state === "object" && <ErrorState error={state.error} />}
      <div ref={element} className="rp-workers-code" />
    </>
  );
}
