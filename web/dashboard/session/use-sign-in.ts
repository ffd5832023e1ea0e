import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { SignInResult } from "./auth.ts";
import { startSession } from "./session.ts";

export interface SignInState {
  /** The sign-in method in progress, such as "password". */
  running: string | undefined;
  error: unknown;
  /** Set if a code of the authenticator app is required. */
  ticket: string | undefined;
  run(way: string, signIn: () => Promise<SignInResult | void>): Promise<void>;
  /** Opens the page from which the user came, with this secret. */
  start(secret: string): void;
  /** Returns to the first step. */
  restart(): void;
}

export function useSignIn(): SignInState {
  const navigate = useNavigate();
  const { from }: { from?: unknown } = useSearch({ strict: false });
  const [running, setRunning] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [ticket, setTicket] = useState<string>();

  function start(secret: string) {
    startSession(secret);
    // Only paths of the dashboard: `//host` would be another origin.
    void navigate({ to: typeof from === "string" && /^\/(?![/\\])/.test(from) ? from : "/", replace: true });
  }

  return {
    running,
    error,
    ticket,
    start,
    restart() {
      setTicket(undefined);
      setError(undefined);
    },
    async run(way, signIn) {
      setRunning(way);
      setError(undefined);
      try {
        const result = await signIn();
        if (result === undefined) return;
        if ("ticket" in result) setTicket(result.ticket);
        else start(result.session.secret);
      } catch (err) {
        // The user closed the dialog of the browser.
        if (!(err instanceof DOMException && err.name === "NotAllowedError")) setError(err);
      } finally {
        setRunning(undefined);
      }
    },
  };
}
