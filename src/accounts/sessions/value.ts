import type { Ids } from "../../kernel/index.ts";

const PREFIX = "rps_";

/** `rps_` and 40 characters A-Z a-z 0-9 _ -; 240 bits of entropy. Token values are shorter and have no such prefix. */
export const makeSessionSecret = (ids: Ids): string => PREFIX + ids.token(30);

/** An API token can be chosen by the operator, so a value of another length is not a session. */
export const isSessionSecret = (secret: string): boolean => secret.length === 44 && secret.startsWith(PREFIX);
