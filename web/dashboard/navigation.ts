import { appInfo } from "./api/app-info.ts";
import type { NavEntry } from "./areas/area.ts";
import { dnsNav } from "./areas/dns/nav.ts";
import { homeNav } from "./areas/home/nav.ts";
import { inboxNav } from "./areas/inbox/nav.ts";
import { liveNav } from "./areas/live/nav.ts";
import { mailNav } from "./areas/mail/nav.ts";
import { referenceNav } from "./areas/reference/nav.ts";
import { settingsNav } from "./areas/settings/nav.ts";
import { storageNav } from "./areas/storage/nav.ts";
import { streamNav } from "./areas/stream/nav.ts";
import { workersNav } from "./areas/workers/nav.ts";

const ALL: readonly NavEntry[] = [
  ...homeNav,
  ...mailNav,
  ...inboxNav,
  ...workersNav,
  ...streamNav,
  ...liveNav,
  ...storageNav,
  ...dnsNav,
  ...settingsNav,
  ...referenceNav,
];

/** Returns the entries of this server. */
export function navigation(): NavEntry[] {
  const { mode } = appInfo();
  const isOffered = ({ modes }: { modes?: readonly ("serve" | "dev")[] }) => modes?.includes(mode) !== false;
  return ALL.filter(isOffered).map((entry) =>
    entry.pages === undefined ? entry : { ...entry, pages: entry.pages.filter(isOffered) },
  );
}
