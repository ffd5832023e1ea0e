import { useEffect, useRef, type RefObject } from "react";
import { isMessage, MESSAGE_TYPE_KEY } from "../../../../shared/messages.ts";

/** Tracks the position of the player in a frame, in seconds. The player reports it via postMessage. */
export function usePlayerPosition(frame: RefObject<HTMLIFrameElement | null>): { current(): number } {
  const position = useRef(0);
  useEffect(() => {
    function receive({ source, data }: MessageEvent) {
      if (source === null || source !== frame.current?.contentWindow || !isMessage(data)) return;
      if (
        data[MESSAGE_TYPE_KEY] === "propertyChange" &&
        data["property"] === "currentTime" &&
        Number.isFinite(data["value"])
      )
        position.current = data["value"] as number;
    }
    window.addEventListener("message", receive);
    return () => window.removeEventListener("message", receive);
  }, [frame]);
  return { current: () => position.current };
}
