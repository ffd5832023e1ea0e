import { defineErrors } from "../../kernel/index.ts";

/** What can be wrong with the settings of mail on its way out. */
export const outboundErrors = defineErrors("outbound", {
  badSmartHost: {
    code: "bad_smart_host",
    http: 400,
    message: "outbound.smart_hosts: {given} is not the address of a mail server: {why}.",
    fix: "Write `smtp://host:587`, `smtp://user:password@host:587` or `smtps://user:password@host`, with %-escapes where a password has signs of its own.",
  },
  noSmartHosts: {
    code: "no_smart_hosts",
    http: 400,
    message: "outbound.deliver is smart_host, and outbound.smart_hosts names none.",
    fix: "Name at least one server, or set outbound.deliver to mx or files.",
  },
});
