import { useEffect, useRef, useState } from "react";
import { api } from "../../../api/client.ts";
import type { ScriptPath } from "../queries.ts";
import type { TailRecord } from "./record.ts";

const TAILS = "/accounts/{account_id}/workers/scripts/{script_name}/tails";
/** Maximum number of records that the page keeps; the oldest ones are removed first. */
const MAX_RECORDS = 1000;
const RETRY_MS = { first: 1000, max: 30_000 };
/** Records that arrive within this time are shown together. */
const BATCH_MS = 100;

export interface TailEntry {
  /** Unique on the page. */
  key: number;
  record: TailRecord;
}

export type TailState = "connecting" | "connected" | { error: unknown };

interface Tail {
  /** Newest first. */
  entries: readonly TailEntry[];
  state: TailState;
  clear: () => void;
}

/** Follows the log of a worker from now on. Reconnects automatically. Changing `filters` starts a new tail. */
export function useTail(path: ScriptPath, filters: readonly object[]): Tail {
  const [entries, setEntries] = useState<readonly TailEntry[]>([]);
  const [state, setState] = useState<TailState>("connecting");
  const count = useRef(0);
  const filterText = JSON.stringify(filters);
  const { account_id: account, script_name: script } = path;

  useEffect(() => {
    const scriptPath: ScriptPath = { account_id: account, script_name: script };
    const stop = new AbortController();
    let waiting: TailEntry[] = [];
    let batch: ReturnType<typeof setTimeout> | undefined;
    const receive = (text: string) => {
      waiting.unshift({ key: count.current++, record: JSON.parse(text) as TailRecord });
      batch ??= setTimeout(() => {
        const added = waiting;
        waiting = [];
        batch = undefined;
        setEntries((shown) => [...added, ...shown].slice(0, MAX_RECORDS));
      }, BATCH_MS);
    };
    void follow(scriptPath, JSON.parse(filterText) as object[], { signal: stop.signal, receive, setState });
    return () => {
      stop.abort();
      clearTimeout(batch);
    };
  }, [account, script, filterText]);

  return { entries, state, clear: () => setEntries([]) };
}

interface TailHandlers {
  signal: AbortSignal;
  receive: (text: string) => void;
  setState: (state: TailState) => void;
}

async function follow(path: ScriptPath, filters: object[], { signal, receive, setState }: TailHandlers): Promise<void> {
  let wait = RETRY_MS.first;
  while (!signal.aborted) {
    setState("connecting");
    try {
      const { id, url } = await api.post(TAILS, { path, body: { filters }, signal });
      const end = () =>
        void api.delete(`${TAILS}/{id}`, { path: { ...path, id } as typeof path & { id: string } }).catch(() => {});
      if (signal.aborted) return end();
      signal.addEventListener("abort", end, { once: true });
      await readTail(url, signal, {
        receive,
        opened() {
          wait = RETRY_MS.first;
          setState("connected");
        },
      });
      signal.removeEventListener("abort", end);
    } catch (error) {
      if (signal.aborted) return;
      setState({ error });
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, RETRY_MS.max);
  }
}

/** Resolves when the connection ends. */
function readTail(
  url: string,
  signal: AbortSignal,
  { receive, opened }: { receive: (text: string) => void; opened: () => void },
): Promise<void> {
  // The id in the path is the credential. The dashboard server proxies tails, so the page can always use its own
  // origin.
  const { pathname } = new URL(url);
  const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${pathname}`, "trace-v1");
  const close = () => socket.close();
  signal.addEventListener("abort", close, { once: true });
  socket.addEventListener("open", opened);
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") receive(data);
    else void (data as Blob).text().then(receive);
  });
  return new Promise((resolve) => {
    socket.addEventListener("close", () => {
      signal.removeEventListener("abort", close);
      resolve();
    });
  });
}
