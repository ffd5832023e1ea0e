import { emitKeypressEvents } from "node:readline";
import type { ReadStream } from "node:tty";

export interface Hotkey {
  /** The first is shown, the others work too. */
  keys: string[];
  label: string;
  run: () => void | Promise<void>;
}

/** One key, one action, on a terminal. Ctrl-C stays what it is: it is passed to `interrupt`. Returns the function that gives the terminal back. */
export function listenForHotkeys(
  input: ReadStream,
  hotkeys: Hotkey[],
  options: { interrupt: () => void; failed: (error: unknown) => void },
): () => void {
  const onKeypress = (typed: string | undefined, key: { name?: string; ctrl?: boolean; meta?: boolean }) => {
    // In raw mode the terminal sends no signals by itself.
    if (key.ctrl && (key.name === "c" || key.name === "d")) return options.interrupt();
    if (key.ctrl || key.meta) return;
    const wanted = typed?.toLowerCase() ?? key.name;
    const hotkey = hotkeys.find(({ keys }) => wanted !== undefined && keys.includes(wanted));
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
