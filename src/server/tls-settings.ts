import { domainToASCII } from "node:url";
import { certificateErrors } from "../certificates/index.ts";
import type { Settings } from "../kernel/settings.ts";

/** Converts a host name to the form used in certificates and SNI. */
export const asciiName = (name: string): string =>
  (name.startsWith("*.") ? `*.${domainToASCII(name.slice(2))}` : domainToASCII(name)).replace(/\.$/, "");

const HOST_NAME = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9-]{2,63}$/;

/** Throws certificateErrors for contradictory settings, before the server listens. */
export function checkTls({
  cert_file: cert,
  key_file: key,
  acme_directory: directory,
  acme_names: names,
  acme_challenge: challenge,
}: Settings["tls"]): void {
  if ((cert === "") !== (key === ""))
    throw certificateErrors.halfAPair({
      set: cert === "" ? "tls.key_file" : "tls.cert_file",
      unset: cert === "" ? "tls.cert_file" : "tls.key_file",
    });
  if (cert !== "" || directory === "") return;
  if (URL.parse(directory)?.protocol !== "https:")
    throw certificateErrors.badDirectory({ directory: JSON.stringify(directory) });
  if (names.length === 0) throw certificateErrors.noNames();
  const wrongName = names.find((name) => !HOST_NAME.test(asciiName(name)) || asciiName(name).length > 253);
  if (wrongName !== undefined) throw certificateErrors.badName({ name: JSON.stringify(wrongName) });
  const wildcard = names.find((name) => name.startsWith("*."));
  if (wildcard !== undefined && challenge === "http-01") throw certificateErrors.wildcardByHttp({ name: wildcard });
}
