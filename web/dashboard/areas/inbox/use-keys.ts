import { useEffect, useRef } from "react";

/** Calls the function of a pressed key, by `KeyboardEvent.key`; not while typing, or while a dialog or menu is open. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      const { key, metaKey, ctrlKey, altKey } = event;
      const action = Object.hasOwn(latest.current, key) ? latest.current[key] : undefined;
      if (action === undefined || metaKey || ctrlKey || altKey || shouldIgnoreKey(event.target as Element)) return;
      event.preventDefault();
      action();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

const shouldIgnoreKey = (target: Element) =>
  document.querySelector("[role=dialog]") !== null ||
  target.closest("input, textarea, select, [contenteditable=true], [role=menu], [role=listbox]") !== null;
