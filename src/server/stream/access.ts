import { streamKeysRoutes, streamTokenRoutes, type Route } from "../../api/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Secrets } from "../../store/index.ts";
import {
  createAccess,
  createCountries,
  createSigningKeys,
  createTokens,
  type Access,
  type LiveAddressesRoom,
  type SigningKeys,
  type Tokens,
  type Videos,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeAccessParts {
  store: Pick<Store, "db" | "events">;
  settings: Pick<Settings, "stream">;
  secrets: Secrets;
  videos: Pick<Videos, "find">;
  /** What is behind the uids of live inputs. */
  live: LiveAddressesRoom;
}

export interface ComposedAccess {
  access: Access;
  /** To broadcasts as they are now. */
  onAir: Access;
  keys: SigningKeys;
  /** For `generateToken()` of the binding. */
  tokens: Tokens;
  routes: Route[];
}

/** Who may watch, and what lets them. Throws badCountryDatabase for settings that name a file which is none. */
export function composeAccess(
  { store: { db, events }, settings: { stream }, secrets, videos, live }: ComposeAccessParts,
  { clock, ids, lifecycle }: Pick<Basics, "clock" | "ids" | "lifecycle">,
): ComposedAccess {
  const keys = createSigningKeys({ db, events, secrets, clock, ids });
  lifecycle.onStop("signing keys", () => keys.close());
  const tokens = createTokens({ videos: live, keys, clock, tokenHours: stream.token_hours });
  const common = {
    keys,
    clock,
    countryOf: createCountries({ file: stream.country_database }),
    originals: stream.originals,
    tokenHours: stream.token_hours,
  };
  const access = createAccess({ ...common, videos, live });
  const onAir = createAccess({ ...common, videos: { find: live.onAir } });
  return { access, onAir, keys, tokens, routes: [...streamKeysRoutes({ keys }), ...streamTokenRoutes({ tokens })] };
}
