import { isIP } from "node:net";
import { createOwnAddresses, type OwnAddresses } from "../kernel/own-addresses.ts";
import type { Settings } from "../kernel/settings.ts";

/** Returns the configured ports of all processes on this machine, except HTTP, which is public. */
export const ownAddressesOf = ({ network, dashboard, smtp, submission, dns, live }: Settings): OwnAddresses =>
  createOwnAddresses({
    addresses: [...network.own_addresses, ...live.webrtc_addresses.filter((address) => isIP(address) !== 0)],
    ports: [dashboard.port, smtp.port, submission.port, dns.port, live.rtmp_port, live.rtmps_port],
  });
