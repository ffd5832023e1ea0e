import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { navigation } from "../navigation.ts";

/** How long the second key of a shortcut may take. */
const SEQUENCE_MS = 1200;

/** Opens an area when `g` is followed by its key. */
export function useNavigationKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let startedAt = -Infinity;
    function onKey({ key, target, metaKey, ctrlKey, altKey, timeStamp }: KeyboardEvent) {
      if (metaKey || ctrlKey || altKey || isTyping(target as Element)) return;
      const isSecond = timeStamp - startedAt < SEQUENCE_MS;
      startedAt = key === "g" ? timeStamp : -Infinity;
      const entry = isSecond ? navigation().find(({ shortcut }) => shortcut === key) : undefined;
      if (entry !== undefined) void navigate({ to: entry.path });
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate]);
}

const isTyping = (target: Element) =>
  target.closest("input, textarea, select, [contenteditable=true], [role=dialog]") !== null;
