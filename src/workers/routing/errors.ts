import { defineErrors } from "../../kernel/index.ts";

/** Errors of routes and custom domains. */
export const workerRoutingErrors = defineErrors("routing", {
  badPattern: {
    code: 10022,
    http: 400,
    message: "The route pattern {pattern} is invalid: {reason}.",
    fix: "Use a pattern such as example.com/*, *.example.com/path or https://example.com/path*.",
  },
  outsideZone: {
    code: 10022,
    http: 400,
    message: "The route pattern {pattern} is not in the zone {zone}.",
    fix: "Use a host in that zone, or create the route in the zone of the host.",
  },
  zoneMissing: {
    code: 10082,
    http: 400,
    message: "The account has no zone for {name}.",
    fix: "Create the zone with `reelpost zone create`, or correct the name.",
  },
  othersZone: {
    code: 10082,
    http: 400,
    message: "The host {host} is in the zone {zone}, which belongs to another account.",
    fix: "Use a host that is not in a zone of another account.",
  },
  routeExists: {
    code: 10020,
    http: 409,
    permanent: true,
    message: "A route with the pattern {pattern} already exists; it runs {owner}.",
    fix: "Delete or update that route.",
  },
  routeMissing: {
    code: 10009,
    http: 404,
    message: "The route {route} does not exist in this zone.",
    fix: "List the routes with GET /zones/{zone}/workers/routes.",
  },
  routeScriptMissing: {
    code: 10019,
    http: 400,
    message: "The Worker {script} does not exist on your account.",
    fix: "Deploy it first, or create the route without a script.",
  },
  tooManyRoutes: {
    code: 10021,
    http: 403,
    message: "The {owner} already has {limit} {what}.",
    fix: "Delete unused ones, or use patterns with wildcards.",
  },
  badHostname: {
    code: 100115,
    http: 400,
    message: "The custom domain {hostname} is invalid: {reason}.",
    fix: "Use a host name without a wildcard, path or port, such as app.example.com.",
  },
  domainTaken: {
    code: 100116,
    http: 409,
    permanent: true,
    message: "The custom domain {hostname} belongs to {owner}.",
    fix: "Detach it from its Worker first. Within one account, override_existing_origin replaces it.",
  },
  recordsExist: {
    code: 100117,
    http: 409,
    permanent: true,
    message: "The zone already has DNS records for {hostname}.",
    fix: "Delete them, or set override_existing_dns_record.",
  },
  domainMissing: {
    code: 100114,
    http: 404,
    message: "The custom domain {domain} does not exist.",
    fix: "List the custom domains with GET /accounts/{account}/workers/domains.",
  },
});
