import { emitKeypressEvents } from "node:readline";
import type { ReadStream } from "node:tty";

export interface Hotkey {
  /** The first key is displayed; the others are aliases. */
  keys: string[];
  label: string;
  run: () => void | Promise<void>;
}

/**
 * Runs an action for each key on a terminal. Ctrl-C calls `interrupt`. Returns a function that restores the terminal.
 */
export function listenForHotkeys(
  input: ReadStream,
  hotkeys: Hotkey[],
  options: { interrupt: () => void; failed: (error: unknown) => void },
): () => void {
  const onKeypress = (typedText: string | undefined, key: { name?: string; ctrl?: boolean; meta?: boolean }) => {
    // In raw mode the terminal does not generate signals.
    if (key.ctrl && (key.name === "c" || key.name === "d")) return options.interrupt();
    if (key.ctrl || key.meta) return;
    const pressedKey = typedText?.toLowerCase() ?? key.name;
    const hotkey = hotkeys.find(({ keys }) => pressedKey !== undefined && keys.includes(pressedKey));
    if (hotkey !== undefined) void Promise.resolve().then(hotkey.run).catch(options.failed);
  };
  emitKeypressEvents(input);
  input.setRawMode(true);
  input.resume();
  input.on("keypress", onKeypress);
  return () => {
    input.off("keypress", onKeypress);
    input.setRawMode(false);
    input.pause();
  };
}
