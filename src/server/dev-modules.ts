import type { DevApiModules } from "../api/index.ts";
import { createGuardedFetch } from "../kernel/guarded-fetch.ts";
import type { Basics } from "../kernel/index.ts";
import { DEV_ACCOUNT, DEV_USER } from "./dev-account.ts";

interface DevModulesDeps {
  platform: Pick<DevApiModules, "scripts" | "queues" | "messages" | "analytics" | "tails"> & {
    onInvocation(listener: (script: string) => void): () => void;
  };
  inbox: { store: DevApiModules["inbox"]; actions: DevApiModules["inboxActions"] };
}

/** Presents the parts of a development server as the modules of the API. */
export function createDevModules(
  { platform: { scripts, queues, messages, analytics, tails, onInvocation }, inbox }: DevModulesDeps,
  { clock }: Pick<Basics, "clock">,
): DevApiModules {
  const createdAt = clock.now();
  return {
    account: {
      id: DEV_ACCOUNT,
      name: "reelpost dev",
      type: "standard",
      settings: { enforceTwofactor: false },
      createdAt,
    },
    user: {
      ...DEV_USER,
      firstName: null,
      lastName: null,
      telephone: null,
      country: null,
      zipcode: null,
      hasGlobalKey: false,
      createdAt,
    },
    scripts,
    queues,
    messages,
    analytics,
    tails,
    inbox: inbox.store,
    inboxActions: inbox.actions,
    fetch: createGuardedFetch({ allowPrivate: false }),
    fetchPrivate: createGuardedFetch({ allowPrivate: true }),
    events: {
      subscribe(_, listener) {
        const unsubscribe = [
          inbox.store.onChange((_account, id) => listener({ topic: "inbox", id })),
          onInvocation((script) => listener({ topic: "workers", id: script })),
        ];
        return () => unsubscribe.forEach((stop) => stop());
      },
    },
  };
}
