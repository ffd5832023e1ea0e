import { defineErrors } from "../../kernel/index.ts";

/** Errors in the settings of outbound mail. */
export const outboundErrors = defineErrors("outbound", {
  badSmartHost: {
    code: "bad_smart_host",
    http: 400,
    message: "outbound.smart_hosts: invalid server {given}: {why}.",
    fix: "Use `smtp://host:587`, `smtp://user:password@host:587` or `smtps://user:password@host`, and percent-encode special characters in the password.",
  },
  noSmartHosts: {
    code: "no_smart_hosts",
    http: 400,
    message: "outbound.deliver is smart_host, but outbound.smart_hosts is empty.",
    fix: "Add at least one server, or set outbound.deliver to mx or files.",
  },
});
