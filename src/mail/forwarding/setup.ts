import type { Settings } from "../../kernel/settings.ts";
import { createSrs, type Srs } from "../../protocol/srs/index.ts";
import type { Secrets } from "../../store/index.ts";

/** Sets up the envelope senders of forwarded mail. All processes of an installation use the same domain and keys. */
export const setUpSrs = ({ email }: Pick<Settings, "email">, secrets: Secrets): Srs =>
  createSrs({ domain: email.forward_domain, keys: secrets.derive("srs") });
