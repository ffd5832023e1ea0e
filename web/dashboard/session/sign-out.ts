import { authorization } from "../api/client.ts";
import { endSession } from "./session.ts";

/** Ends the session on the server, if it is one, and in all tabs. */
export async function signOut(): Promise<void> {
  await fetch("/auth/sign-out", {
    method: "POST",
    headers: { ...authorization(), "content-type": "application/json" },
    body: "{}",
    credentials: "omit",
  }).catch(() => {});
  endSession("signed-out");
}
