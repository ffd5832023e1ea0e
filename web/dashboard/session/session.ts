/**
 * The session is a bearer secret in the storage of the dashboard's origin. It is never a cookie: browsers send cookies
 * to every port of a host, and thus also to workers.
 */
const STORAGE_KEY = "reelpost.session";

type EndReason = "signed-out" | "expired";

const listeners = new Set<() => void>();
let endReason: EndReason | undefined;

addEventListener("storage", ({ key }) => {
  // Another tab signed in or out.
  if (key === STORAGE_KEY || key === null) notify();
});

export const sessionSecret = (): string | undefined => localStorage.getItem(STORAGE_KEY) ?? undefined;

export function startSession(secret: string): void {
  endReason = undefined;
  localStorage.setItem(STORAGE_KEY, secret);
  notify();
}

/** Forgets the session; the shell then opens the sign-in page. */
export function endSession(reason: EndReason): void {
  if (sessionSecret() === undefined) return;
  endReason = reason;
  localStorage.removeItem(STORAGE_KEY);
  notify();
}

/** Why the last session of this tab ended. */
export const sessionEndReason = (): EndReason | undefined => endReason;

export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}
